"""The sentence encoder all-MiniLM-L6-v2 on onnxruntime, built from its safetensors weights without torch.

A BERT (Devlin et al. 2018) of six layers whose token vectors are averaged over the whole sentence, special
tokens included, as sentence-transformers does. Texts of one call to the network have equally many tokens, so
it needs neither padding nor an attention mask.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentrysearch.embedders._converted import converted, digest

CONVERTER = "1"
"""Changes whenever the graph built here does."""

DIMENSION = 384

_WORDS = "embeddings.word_embeddings.weight"


class TextEncoder:
    """Loads from the folder of the published checkpoint; the network is converted once and kept."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from safetensors import safe_open
        from tokenizers import Tokenizer

        model = converted(f"minilm-{revision(folder)}.onnx", lambda: build(folder))
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_settings(folder, "sentence_bert_config.json")["max_seq_length"])
        # The table of words is half of the weights and a sentence needs a few rows of it: they are read from
        # the checkpoint, which safetensors maps into memory, instead of passing through the network's file.
        checkpoint: Any = safe_open(folder / "model.safetensors", "numpy")
        self._words = checkpoint.get_slice(_WORDS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384)."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        of_length: dict[int, list[int]] = defaultdict(list)
        for place, ids in enumerate(tokens):
            of_length[len(ids)].append(place)
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for places in of_length.values():
            words = np.stack([self._rows(tokens[place]) for place in places])
            (vectors[places],) = self._session.run(None, {"words": words})
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        return np.concatenate([self._words[token : token + 1] for token in ids])


def revision(folder: Path) -> str:
    """Names the weights and how they are converted."""
    return f"{digest(folder / 'model.safetensors')[:12]}-{CONVERTER}"


def _settings(folder: Path, name: str) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return settings


def build(folder: Path) -> bytes:
    """Turns the checkpoint into an ONNX file.

    Returns:
        A model from ``words`` (n, t, 384) float32, the tokens' rows of the table of words, to ``means``
        (n, 384) float32, not normalised.
    """
    from safetensors.numpy import load_file

    return _Network(load_file(folder / "model.safetensors"), _settings(folder, "config.json")).serialise()


class _Network:
    def __init__(self, weights: Mapping[str, NDArray[np.float32]], settings: Mapping[str, Any]) -> None:
        from sentrysearch.embedders._graph import Graph  # needs onnx, which a converted model does not

        self.graph = Graph()
        self.weights = weights
        self.layers: int = settings["num_hidden_layers"]
        self.heads: int = settings["num_attention_heads"]
        self.width: int = settings["hidden_size"]
        self.epsilon: float = settings["layer_norm_eps"]

    def serialise(self) -> bytes:
        graph, weights = self.graph, self.weights
        # Every token is of the first segment, so its vector can be part of the positions' ones.
        segment = weights["embeddings.token_type_embeddings.weight"][0]
        positions = weights["embeddings.position_embeddings.weight"] + segment
        length = graph.node("Shape", "words", start=1, end=2)
        first = graph.node("Slice", graph.weight(positions), graph.weight(np.array([0])), length)
        value = self._norm(graph.node("Add", "words", first), "embeddings.LayerNorm")
        for layer in range(self.layers):
            value = self._layer(value, f"encoder.layer.{layer}.")
        graph.node("ReduceMean", value, graph.weight(np.array([1])), keepdims=0, output="means")
        return graph.serialise(
            "minilm",
            {"words": (np.float32, ["n", "t", self.width])},
            {"means": (np.float32, ["n", self.width])},
        )

    def _layer(self, value: str, prefix: str) -> str:
        graph = self.graph
        query = self._heads(value, f"{prefix}attention.self.query", [0, 2, 1, 3])
        key = self._heads(value, f"{prefix}attention.self.key", [0, 2, 3, 1])
        content = self._heads(value, f"{prefix}attention.self.value", [0, 2, 1, 3])
        scale = graph.weight(np.float32((self.width // self.heads) ** -0.5))
        scores = graph.node("Mul", graph.node("MatMul", query, key), scale)
        mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), content)
        mixed = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = graph.node("Reshape", mixed, graph.weight(np.array([0, 0, self.width])))
        attended = self._linear(mixed, f"{prefix}attention.output.dense")
        value = self._norm(graph.node("Add", value, attended), f"{prefix}attention.output.LayerNorm")
        inner = graph.node("Gelu", self._linear(value, f"{prefix}intermediate.dense"))
        outer = self._linear(inner, f"{prefix}output.dense")
        return self._norm(graph.node("Add", value, outer), f"{prefix}output.LayerNorm")

    def _heads(self, value: str, name: str, axes: list[int]) -> str:
        shape = self.graph.weight(np.array([0, 0, self.heads, self.width // self.heads]))
        parts = self.graph.node("Reshape", self._linear(value, name), shape)
        return self.graph.node("Transpose", parts, perm=axes)

    def _linear(self, value: str, name: str) -> str:
        product = self.graph.node("MatMul", value, self.graph.weight(self.weights[f"{name}.weight"].T))
        return self.graph.node("Add", product, self.graph.weight(self.weights[f"{name}.bias"]))

    def _norm(self, value: str, name: str) -> str:
        gain, bias = (self.graph.weight(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.graph.node("LayerNormalization", value, gain, bias, axis=-1, epsilon=self.epsilon)
