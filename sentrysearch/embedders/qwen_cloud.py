"""Qwen3-VL-Embedding as Alibaba Cloud hosts it, through the DashScope SDK.

A video is given by address only, so each clip first goes to the service's temporary storage (kept there for
48 hours): an upload policy, the upload, then the embedding of the ``oss://`` address. A video may have 50 MB;
its length isn't limited, the service samples it to at most 64 frames. A query carries an instruction.
(help.aliyun.com/model-studio: "Multimodal embedding API", "Upload local files to get temporary URLs".)

Environment: ``DASHSCOPE_API_KEY``; ``SENTRYSEARCH_QWEN_CLOUD_RPM`` for the requests a minute (120);
``DASHSCOPE_HTTP_BASE_URL`` for another region or a gateway.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sentrysearch.embedders._clip_embedder import ClipEmbedder, ClipSettings
from sentrysearch.embedders._hosted import Service

if TYPE_CHECKING:
    from sentrysearch.embedders._dashscope import DashScope

MODELS = {
    "qwen-cloud": {
        "backend": "qwen-cloud",
        "summary": "Qwen3-VL-Embedding hosted by Alibaba Cloud (DashScope); needs a key",
        "packages": ["dashscope"],
        "extra": "qwen-cloud",
        "keys": ["DASHSCOPE_API_KEY"],
    },
}


def create(name: str) -> QwenCloudEmbedder:
    return QwenCloudEmbedder(name)


class QwenCloudEmbedder(ClipEmbedder):
    """``qwen3-vl-embedding`` at its full 2560 dimensions."""

    title = "Qwen Cloud"
    model = "qwen3-vl-embedding"
    dimension = 2560
    clip = ClipSettings(longest=None, max_bytes=50_000_000)
    query_wording = "Retrieve videos relevant to the user's query."
    rate_variable = "SENTRYSEARCH_QWEN_CLOUD_RPM"
    rate = 120.0

    _client: DashScope | None = None

    def _connect(self, key: str, variable: str) -> None:
        from sentrysearch.embedders._dashscope import DashScope

        self._client = DashScope(
            self.model,
            key,
            base_url=os.environ.get("DASHSCOPE_HTTP_BASE_URL") or None,
            timeout=self._patience.timeout,
            hint=f"check {variable}",
            clock=self._clock,
        )

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()

    def _embed_clip(self, service: Service, label: str, clip: bytes) -> object:
        client = self._client
        assert client is not None
        # Each step is tried by itself, so that a busy model costs no second upload. Only the embedding counts
        # against the model's rate.
        policy = service.call(label, client.upload_policy, paced=False)
        address = service.call(label, lambda: client.store(policy, clip), paced=False)
        return service.call(
            label, lambda: client.embed({"video": address}, dimension=self.dimension, fps=1.0)
        )

    def _embed_text(self, service: Service, label: str, text: str) -> object:
        client = self._client
        assert client is not None
        return service.call(
            label,
            lambda: client.embed({"text": text}, dimension=self.dimension, instruct=self.query_wording),
        )
