"""Gemini Embedding 2 through the google-genai SDK.

One video a request, inline, MP4, at most 120 seconds without an audio track and 20 MB for the whole request;
the model looks at no more than about one frame a second. It takes no ``task_type``: a query says what it is
for in its text, ``task: search result | query: …``, and a video stands as it is.
(ai.google.dev/gemini-api/docs/embeddings, docs.cloud.google.com "Get multimodal embeddings".)

Environment: ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``; ``SENTRYSEARCH_GEMINI_RPM`` for the requests a minute
(60, what the free tier takes); ``GOOGLE_GEMINI_BASE_URL`` to go through a gateway.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sentrysearch.embedders._clip_embedder import ClipEmbedder, ClipSettings
from sentrysearch.embedders._hosted import RequestFailed, Service, httpx_failure, refused, seconds_to_wait

if TYPE_CHECKING:
    import httpx
    from google import genai
    from google.genai import errors, types

MODELS = {
    "gemini": {
        "backend": "gemini",
        "summary": "Google Gemini Embedding 2, hosted; needs a key",
        "packages": ["google.genai"],
        "extra": "",
        "keys": ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    },
}


def create(name: str) -> GeminiEmbedder:
    return GeminiEmbedder(name)


class GeminiEmbedder(ClipEmbedder):
    """``gemini-embedding-2`` at its full 3072 dimensions."""

    title = "Gemini"
    model = "gemini-embedding-2"
    dimension = 3072
    # Base64 makes four bytes of three, and the request has a few more around it.
    clip = ClipSettings(longest=120.0, max_bytes=14_500_000)
    query_wording = "task: search result | query: {}"
    rate_variable = "SENTRYSEARCH_GEMINI_RPM"
    rate = 60.0

    _client: genai.Client | None = None
    _http: httpx.Client | None = None
    _key_variable = ""

    def _connect(self, key: str, variable: str) -> None:
        import httpx
        from google import genai
        from google.genai import types

        logging.getLogger("google_genai").setLevel(logging.CRITICAL)
        self._key_variable = variable
        # A connection of our own: its exceptions are known whichever library the SDK would choose, and it
        # follows no redirect, which would take the key's header to another host.
        self._http = httpx.Client(timeout=self._patience.timeout, follow_redirects=False)
        self._client = genai.Client(
            vertexai=False,
            api_key=key,
            http_options=types.HttpOptions(
                api_version="v1beta",  # has the model in every version of the SDK; its default has changed
                base_url=os.environ.get("GOOGLE_GEMINI_BASE_URL") or None,
                timeout=round(self._patience.timeout * 1000),
                httpx_client=self._http,
                retry_options=types.HttpRetryOptions(attempts=1),
            ),
        )

    def _disconnect(self) -> None:
        if self._http is not None:
            self._http.close()

    def _embed_clip(self, service: Service, label: str, clip: bytes) -> object:
        from google.genai import types

        part = types.Part.from_bytes(data=clip, mime_type="video/mp4")
        return service.call(label, lambda: self._embed(part))

    def _embed_text(self, service: Service, label: str, text: str) -> object:
        from google.genai import types

        part = types.Part.from_text(text=self.query_wording.format(text))
        return service.call(label, lambda: self._embed(part))

    def _embed(self, part: types.Part) -> object:
        """One request; the values of the one embedding in its answer."""
        import httpx
        from google.genai import errors, types

        assert self._client is not None
        try:
            answer = self._client.models.embed_content(
                model=self.model,
                contents=types.Content(parts=[part]),
                config=types.EmbedContentConfig(output_dimensionality=self.dimension),
            )
        except errors.APIError as error:
            raise self._refused(error) from None
        except httpx.TransportError as error:
            raise httpx_failure(error, self._patience.timeout) from None
        embeddings = answer.embeddings or []
        if len(embeddings) != 1:
            raise RequestFailed(f"{len(embeddings)} embeddings in the answer, not one", passing=False)
        return embeddings[0].values or []

    def _refused(self, error: errors.APIError) -> RequestFailed:
        details = _details(error.details)
        wrong_key = error.code == 401 or any(detail.get("reason") == "API_KEY_INVALID" for detail in details)
        return refused(
            error.code,
            error.message,
            getattr(error.response, "headers", None) or {},
            wall=self._clock.wall(),
            wait=_retry_delay(details),
            hint=f"check {self._key_variable}" if wrong_key else None,
        )


def _details(body: object) -> list[Mapping[str, object]]:
    """The ``error.details`` of an answer (google.rpc.Status), as far as they have that shape."""
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []


def _retry_delay(details: list[Mapping[str, object]]) -> float | None:
    """Seconds from a google.rpc.RetryInfo, whose ``retryDelay`` reads like ``17.5s``."""
    for detail in details:
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return seconds_to_wait(delay[:-1])
    return None
