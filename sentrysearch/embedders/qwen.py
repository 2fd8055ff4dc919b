"""Qwen3-VL-Embedding on this machine: ``qwen8b``, ``qwen2b``, any hub id or folder of that architecture.

Runs through transformers: bf16 on CUDA, fp16 on Metal, fp32 on the CPU; with ``@4bit`` after the name,
quantised by bitsandbytes on CUDA. Windows go in as frames (``_qwen_inputs`` says how, and what was checked
against the reference). The vector is the last token's state after the final norm, its first 768 numbers
(the models were trained for that, Matryoshka), scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sentrysearch.embedders import QUANTISED_SUFFIX, _memory, _qwen_checkpoint, _qwen_inputs
from sentrysearch.embedders._vectors import query_label, unit_vectors, window_label
from sentrysearch.errors import EmbedderFailed, EmbedderUnavailable
from sentrysearch.types import Picture, Sampling, WindowFrames

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

MODELS = {
    "qwen8b": {
        "backend": "local",
        "summary": "Qwen3-VL-Embedding-8B on this machine (about 18 GB of GPU memory, 6 GB with @4bit)",
        "weights": "Qwen/Qwen3-VL-Embedding-8B",
        "packages": ["torch", "transformers", "torchvision", "accelerate"],
        "extra": "local",
    },
    "qwen2b": {
        "backend": "local",
        "summary": "Qwen3-VL-Embedding-2B on this machine (about 6 GB of GPU memory)",
        "weights": "Qwen/Qwen3-VL-Embedding-2B",
        "packages": ["torch", "transformers", "torchvision", "accelerate"],
        "extra": "local",
    },
}
DIMENSION = 768
_DTYPES = {"cuda": "bfloat16", "mps": "float16", "cpu": "float32"}
_SMALLER = "a smaller model (qwen2b; @4bit on CUDA)"
_BATCH_SIZES = {"cuda": 4, "mps": 2, "cpu": 1}


def create(name: str) -> QwenEmbedder:
    """Makes the embedder for a name as the user typed it.

    Raises:
        EmbedderUnavailable: neither a folder nor the form of a hub id.
    """
    return QwenEmbedder(name)


class QwenEmbedder:
    """See the module. ``dimension`` is final once loaded: smaller only where the model's own vectors are."""

    sampling: Sampling = _qwen_inputs.SAMPLING
    concurrency = 1

    def __init__(self, name: str, dimension: int | None = None, batch_size: int | None = None) -> None:
        """``batch_size`` in windows; left out, what suits the device."""
        self.name = name
        self._quantised = name.endswith(QUANTISED_SUFFIX)
        self._checkpoint = _qwen_checkpoint.resolve(name.removesuffix(QUANTISED_SUFFIX))
        self._asked_dimension = dimension
        self._hidden_size = self._checkpoint.hidden_size()
        self._batch_size = batch_size
        self._device: str | None = None
        self._revision: str | None = None
        self._processor: Any = None
        self._model: Any = None

    @property
    def dimension(self) -> int:
        if self._asked_dimension is not None:
            return self._asked_dimension
        return min(DIMENSION, self._hidden_size or DIMENSION)

    @property
    def device(self) -> str:
        """One of "cuda", "mps" and "cpu". Finding out imports torch."""
        if self._device is None:
            import torch

            on_metal = torch.backends.mps.is_available()
            self._device = "cuda" if torch.cuda.is_available() else "mps" if on_metal else "cpu"
        return self._device

    @property
    def revision(self) -> str:
        """Weights, dimension, number format and preprocessing.

        The first call imports torch and reads a local folder's weights once to hash them, so not on a UI
        thread. It stays the same for this object, also when ``load`` downloads the weights.
        """
        if self._revision is None:
            numbers = "nf4" if self._quantised else _DTYPES[self.device]
            identity = self._checkpoint.identity()
            self._revision = f"{identity} {self.dimension}d {numbers} {_qwen_inputs.PREPROCESSING}"
        return self._revision

    @property
    def batch_size(self) -> int:
        """Falls for good when a batch did not fit into memory."""
        return self._batch_size or _BATCH_SIZES[self.device]

    def load(self) -> None:
        if self._quantised and self.device != "cuda":
            raise EmbedderUnavailable(
                f"{QUANTISED_SUFFIX} needs an NVIDIA GPU",
                where=self.name,
                hint=f"use {self.name.removesuffix(QUANTISED_SUFFIX)}",
            )
        self._processor, self._model = _qwen_checkpoint.load(
            self._checkpoint, device=self.device, dtype=_DTYPES[self.device], quantised=self._quantised
        )
        self._hidden_size = self._model.config.text_config.hidden_size
        if not 1 <= self.dimension <= self._hidden_size:
            self.close()
            raise EmbedderUnavailable(
                f"dimension {self.dimension}, but its vectors have {self._hidden_size} numbers",
                where=self.name,
            )

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        """The largest size any window shows the picture in; long windows are reduced further as they are
        embedded, because only there the number of frames that share the budget is known."""
        return picture.rgb(*_qwen_inputs.frame_size(picture.width, picture.height))

    def embed_windows(self, batch: Sequence[WindowFrames]) -> NDArray[np.float32]:
        parts: list[NDArray[np.float32]] = []
        rest = list(batch)
        while rest:
            part = rest[: self.batch_size]
            labels = [window_label(item.window) for item in part]
            if not all(item.frames for item in part):
                raise EmbedderFailed("no frame to embed", where=", ".join(labels))
            vectors = self._vectors(partial(_qwen_inputs.window_inputs, self._processor, part), labels)
            if vectors is not None:
                parts.append(vectors)
                rest = rest[len(part) :]
            elif len(part) > 1:
                self._batch_size = len(part) // 2
            else:
                raise EmbedderFailed(
                    f"out of memory on {self.device} with this one window",
                    where=labels[0],
                    hint=f"use shorter windows, or {_SMALLER}",
                )
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        label = query_label(text)
        vectors = self._vectors(partial(_qwen_inputs.query_inputs, self._processor, text), [label])
        if vectors is None:
            raise EmbedderFailed(f"out of memory on {self.device}", where=label, hint=f"use {_SMALLER}")
        vector: NDArray[np.float32] = vectors[0]
        return vector

    def close(self) -> None:
        if self._model is not None:
            self._model = self._processor = None
            _memory.free_memory(self.device)

    def _vectors(
        self, inputs: Callable[[], dict[str, torch.Tensor]], labels: Sequence[str]
    ) -> NDArray[np.float32] | None:
        """One vector a label; None when memory ran out, with all that was held given back."""
        try:
            raw = self._pooled(inputs())
        except Exception as error:
            if not _memory.is_out_of_memory(error):
                raise EmbedderFailed(_qwen_checkpoint.described(error), where=", ".join(labels)) from error
            raw = None
        # Only here, when the error and the frames of its traceback are gone, can their memory be had back.
        if raw is None:
            _memory.free_memory(self.device)
            return None
        return unit_vectors(raw, labels, self.dimension)

    def _pooled(self, inputs: dict[str, torch.Tensor]) -> NDArray[np.float32]:
        """The first numbers of the last token's state, for each row of the inputs."""
        import torch

        with torch.inference_mode():
            on_device = {name: tensor.to(self.device) for name, tensor in inputs.items()}
            states = self._model(**on_device, use_cache=False).last_hidden_state
            last = on_device["attention_mask"].sum(dim=1) - 1  # padding is on the right
            pooled = states[torch.arange(len(last), device=last.device), last, : self.dimension]
            vectors: NDArray[np.float32] = pooled.float().cpu().numpy()
        return vectors
