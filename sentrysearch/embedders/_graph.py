"""A small writer of ONNX graphs: one node a call, one output a node. Needs the ``onnx`` package."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

# Opset 20 brings Gelu; this IR version is one that onnxruntime 1.20 already reads.
_OPSET, _IR_VERSION = 20, 10


Tensors = dict[str, tuple[type, list[int | str]]]
"""Names with element type and shape; a dimension that varies is a name."""


class Graph:
    """Collects nodes and weights; values are named by the strings its methods return."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def weight(self, array: NDArray[Any] | np.generic) -> str:
        """A constant held in the file."""
        name = f"weight{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Adds an ONNX operator and returns the name of its first output."""
        name = output or f"value{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def serialise(self, name: str, given: Tensors, made: Tensors) -> bytes:
        """The checked model file, taking ``given`` and returning ``made``."""
        graph = helper.make_graph(self._nodes, name, _declared(given), _declared(made), self._weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
        )
        onnx.checker.check_model(model, full_check=True)
        payload: bytes = model.SerializeToString()
        return payload


def _declared(tensors: Tensors) -> list[Any]:
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)
        for name, (kind, shape) in tensors.items()
    ]
