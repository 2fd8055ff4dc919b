"""The edge to the DashScope SDK: three requests, each made once, each failure a RequestFailed.

Imports the SDK, so only ``qwen_cloud`` imports it, and only when it is loaded.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Any

import httpx
import requests
from dashscope import MultiModalEmbedding
from dashscope.utils.oss_utils import OssUtils

from sentrysearch.embedders._hosted import Clock, RequestFailed, httpx_failure, refused

_POLICY_FIELDS = {
    "OSSAccessKeyId": "oss_access_key_id",
    "Signature": "signature",
    "policy": "policy",
    "x-oss-object-acl": "x_oss_object_acl",
    "x-oss-forbid-overwrite": "x_oss_forbid_overwrite",
}
"""Fields of the storage's form, and the names under which the upload policy holds them."""


class DashScope:
    """Requests for one model with one key, from any thread.

    Args:
        base_url: of the API; None for what the SDK takes from its own environment variables.
        hint: what to do when the key is refused.
    """

    def __init__(
        self, model: str, key: str, *, base_url: str | None, timeout: float, hint: str, clock: Clock
    ) -> None:
        logging.getLogger("dashscope").setLevel(logging.CRITICAL)
        self._model = model
        self._timeout = timeout
        self._hint = hint
        self._clock = clock
        self._common: dict[str, Any] = {"api_key": key, "base_address": base_url, "request_timeout": timeout}
        self._session = _OneTrySession(timeout)
        self._storage = httpx.Client(timeout=timeout)

    def upload_policy(self) -> Mapping[str, str]:
        """Where a file may be stored for the model, and the signature that allows it."""
        try:
            answer = OssUtils.get_upload_certificate(model=self._model, **self._common)
        except requests.RequestException as error:
            raise _requests_failure(error, self._timeout) from None
        policy: Mapping[str, str] = self._output(answer)
        return policy

    def store(self, policy: Mapping[str, str], clip: bytes) -> str:
        """Posts an MP4 to the temporary storage; its ``oss://`` address.

        Not through the SDK: its upload waits up to an hour and tells no status when refused.
        """
        # A new name each time: what was stored by a try whose answer was lost may not be overwritten.
        name = f"{policy['upload_dir']}/{uuid.uuid4().hex}.mp4"
        form = {field: policy[source] for field, source in _POLICY_FIELDS.items()}
        form |= {"key": name, "success_action_status": "200", "x-oss-content-type": "video/mp4"}
        try:
            answer = self._storage.post(
                policy["upload_host"], data=form, files={"file": ("clip.mp4", clip, "video/mp4")}
            )
        except httpx.TransportError as error:
            raise httpx_failure(error, self._timeout) from None
        if answer.status_code != 200:
            raise refused(
                answer.status_code, "the clip could not be stored", answer.headers, wall=self._clock.wall()
            )
        return f"oss://{name}"

    def embed(self, content: Mapping[str, str], **parameters: Any) -> object:
        """The one embedding of ``{"video": "oss://…"}`` or ``{"text": "…"}``, unchecked."""
        answer = _Embedding.call(
            model=self._model,
            input=[dict(content)],
            headers={"X-DashScope-OssResourceResolve": "enable"},
            session=self._session,
            **self._common,
            **parameters,
        )
        embeddings = self._output(answer)["embeddings"]
        if len(embeddings) != 1:
            raise RequestFailed(f"{len(embeddings)} embeddings in the answer, not one", passing=False)
        return embeddings[0]["embedding"]

    def close(self) -> None:
        self._session.close()
        self._storage.close()

    def _output(self, answer: Any) -> Any:
        """The output of the SDK's answer, which reports errors by status instead of raising them."""
        status = int(answer.status_code)
        if status == 200:
            return answer.output
        raise refused(
            status,
            answer.message or answer.code,
            answer.headers or {},
            wall=self._clock.wall(),
            hint=self._hint if status == 401 else None,
        )


class _Embedding(MultiModalEmbedding):
    """Sends its input as it is: the SDK would upload any file whose name equals a query's text."""

    @classmethod
    def _preprocess_message_inputs(cls, *_: object) -> bool:
        return False


class _OneTrySession(requests.Session):
    """Follows no redirect, and turns failed connections into RequestFailed, which the SDK doesn't repeat."""

    def __init__(self, timeout: float) -> None:
        super().__init__()
        self._timeout = timeout

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        try:
            return super().request(*arguments, **{**options, "allow_redirects": False})
        except requests.RequestException as error:
            raise _requests_failure(error, self._timeout) from None


def _requests_failure(error: requests.RequestException, timeout: float) -> RequestFailed:
    """What a failed request means. The library's text is not repeated: it may hold a header."""
    if isinstance(error, requests.Timeout):
        return RequestFailed(f"no answer within {timeout:g} s", passing=True)
    dropped = isinstance(error, requests.ConnectionError | requests.exceptions.ChunkedEncodingError)
    what = "the connection failed" if dropped else "the request could not be made or its answer read"
    return RequestFailed(f"{what} ({type(error).__name__})", passing=dropped)
