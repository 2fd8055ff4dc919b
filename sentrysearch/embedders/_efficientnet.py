"""EfficientNet-Lite as an ONNX graph, built from the published weights alone.

The network (Tan and Le 2019, the Lite variant): a 3x3 stem, seven stages of inverted residual blocks, a 1x1
head, mean over positions, one linear layer. The weights' own shapes say how many blocks there are, how wide,
and with which kernels; only the stages' strides are not in them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

CONVERTER = "1"
"""Changes whenever the graph built here does."""

_STAGE_STRIDES = (1, 2, 2, 2, 1, 2, 1)
_EPSILON = 1e-3  # of the batch normalisation
_MEAN, _SCALE = 127.0, 128.0  # pixels were scaled so in training

Weights = Mapping[str, NDArray[np.float32]]


def build(weights: Weights, size: int) -> bytes:
    """Turns weights into an ONNX file.

    Args:
        weights: the state dict as arrays.
        size: side in pixels of the square images it takes.

    Returns:
        A model from ``images`` (n, size, size, 3) uint8 RGB to ``probabilities`` (n, classes) float32.
    """
    return _Network(weights, size).serialise()


class _Network:
    def __init__(self, weights: Weights, size: int) -> None:
        from sentrysearch.embedders._graph import Graph  # needs onnx, which a converted model does not

        self.weights = weights
        self.size = size
        self.side = size  # of the feature map at the present point of the network
        self.graph = Graph()

    def serialise(self) -> bytes:
        graph = self.graph
        value = graph.node("Cast", "images", to=1)  # to float32
        value = graph.node("Sub", value, graph.weight(np.float32(_MEAN)))
        value = graph.node("Div", value, graph.weight(np.float32(_SCALE)))
        value = graph.node("Transpose", value, perm=[0, 3, 1, 2])
        value = self._convolution(value, "_conv_stem", "_bn0", stride=2)
        for prefix, stride in self._blocks():
            value = self._block(value, prefix, stride)
        value = self._convolution(value, "_conv_head", "_bn1")
        value = graph.node("GlobalAveragePool", value)
        value = graph.node("Flatten", value)
        value = graph.node(
            "Gemm",
            value,
            graph.weight(self.weights["_fc.weight"]),
            graph.weight(self.weights["_fc.bias"]),
            transB=1,
        )
        graph.node("Softmax", value, axis=1, output="probabilities")
        return graph.serialise(
            "efficientnet-lite",
            {"images": (np.uint8, ["n", self.size, self.size, 3])},
            {"probabilities": (np.float32, ["n", len(self.weights["_fc.bias"])])},
        )

    def _blocks(self) -> list[tuple[str, int]]:
        """Each block's prefix and stride: a stage begins where the width changes."""
        found: list[tuple[str, int]] = []
        width, stage = 0, -1
        while (project := self.weights.get(f"_blocks.{len(found)}._project_conv.weight")) is not None:
            begins = project.shape[0] != width
            width, stage = project.shape[0], stage + begins
            found.append((f"_blocks.{len(found)}.", _STAGE_STRIDES[stage] if begins else 1))
        return found

    def _block(self, value: str, prefix: str, stride: int) -> str:
        entered = value
        expands = f"{prefix}_expand_conv.weight" in self.weights
        if expands:
            value = self._convolution(value, f"{prefix}_expand_conv", f"{prefix}_bn0")
        value = self._convolution(value, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride=stride)
        value = self._convolution(value, f"{prefix}_project_conv", f"{prefix}_bn2", activation=False)
        first = self.weights[f"{prefix}_expand_conv.weight" if expands else f"{prefix}_depthwise_conv.weight"]
        width_in = first.shape[1] if expands else first.shape[0]
        width_out = self.weights[f"{prefix}_project_conv.weight"].shape[0]
        return self.graph.node("Add", value, entered) if stride == 1 and width_in == width_out else value

    def _convolution(
        self, value: str, name: str, norm: str, *, stride: int = 1, activation: bool = True
    ) -> str:
        """Convolution with its batch normalisation folded in, padded as TensorFlow's SAME does."""
        weights = self.weights
        kernel = weights[f"{name}.weight"].astype(np.float64)
        variance = weights[f"{norm}.running_var"].astype(np.float64)
        gain = weights[f"{norm}.weight"] / np.sqrt(variance + _EPSILON)
        bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * gain
        extent = kernel.shape[2]
        out = -(-self.side // stride)
        padding = max((out - 1) * stride + extent - self.side, 0)
        before, after = padding // 2, padding - padding // 2
        self.side = out
        graph = self.graph
        value = graph.node(
            "Conv",
            value,
            graph.weight((kernel * gain[:, None, None, None]).astype(np.float32)),
            graph.weight(bias.astype(np.float32)),
            kernel_shape=[extent, extent],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=kernel.shape[0] if kernel.shape[1] == 1 and extent > 1 else 1,
        )
        if not activation:
            return value
        return graph.node("Clip", value, graph.weight(np.float32(0)), graph.weight(np.float32(6)))
