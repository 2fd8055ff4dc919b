"""What the hosted embedders share: each window is encoded as a small clip and sent on its own."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentrysearch.clips import encode_clip
from sentrysearch.embedders import find
from sentrysearch.embedders._hosted import Clock, Patience, Service, requests_per_minute
from sentrysearch.embedders._vectors import query_label, unit_vectors, window_label
from sentrysearch.errors import EmbedderFailed, EmbedderUnavailable
from sentrysearch.types import Picture, WindowFrames


@dataclass(frozen=True, slots=True)
class ClipSettings:
    """How a window is encoded for a service. MP4 with H.264, never with an audio track."""

    longest: float | None
    """Seconds of video that the service takes; None where only the size is limited."""
    max_bytes: int
    max_side: int = 640
    """Pixels of the longer side: more than the services' own frames keep."""
    fps: float = 2.0
    """Pictures a second: twice what the services sample, and a tenth of the bytes of the footage's own."""

    def __str__(self) -> str:
        return f"mp4 h264 {self.max_side}px {self.fps:g}fps {self.max_bytes}B"


class ClipEmbedder(ABC):
    """An embedder behind a service; a subclass says what one request is.

    Vectors depend on the service's model, the clips' encoding and the query's wording: all are in
    ``revision``. The key is read from the environment when it is loaded and kept only where requests are
    made.

    Args:
        name: as the user types it.
        patience: how long a request is tried.
        clock: time, for the tests.
    """

    title: str
    """The service in messages."""
    model: str
    """The service's own id of the model."""
    dimension: int
    clip: ClipSettings
    query_wording: str
    """How the service is told that a text is a query."""
    rate_variable: str
    """The environment variable that sets how many requests may start in a minute."""
    rate: float

    sampling = None
    batch_size = 1
    concurrency = 8

    def __init__(self, name: str, *, patience: Patience | None = None, clock: Clock | None = None) -> None:
        self.name = name
        self._patience = patience or Patience()
        self._clock = clock or Clock()
        self._service: Service | None = None

    @property
    def revision(self) -> str:
        return f"{self.model} {self.dimension}d, clip {self.clip}, query {self.query_wording!r}"

    def load(self) -> None:
        """Reads the key and imports the SDK; no request is made.

        Raises:
            EmbedderUnavailable: the SDK or the key is missing, or the key cannot be one.
            BadInput: the rate's environment variable isn't a positive number.
        """
        entry = find(self.name)
        missing = entry.missing()
        if missing is not None:
            raise missing
        variable = next(name for name in entry.keys if os.environ.get(name))
        key = os.environ[variable].strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise EmbedderUnavailable("holds characters that no key has", where=variable)
        rate = requests_per_minute(self.rate_variable, self.rate)
        self._service = Service(self.title, key, rate, self._patience, self._clock)
        self._connect(key, variable)

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        raise TypeError(f"{self.name} encodes clips itself and takes no pictures")

    def embed_windows(self, batch: Sequence[WindowFrames]) -> NDArray[np.float32]:
        """Vectors of shape (len(batch), dimension), from one clip and one request a window.

        Raises:
            EmbedderFailed: a window longer than the service takes, a request that failed, a vector that
                cannot be used; names the window.
            FootageError: the window's footage cannot be decoded.
            Cancelled: closed meanwhile.
        """
        service = self._opened()
        vectors = []
        for item in batch:
            window, label = item.window, window_label(item.window)
            seconds = round(window.end - window.start, 1)
            # Refused rather than cut: a vector of a part of the window would be scored as the whole.
            if self.clip.longest is not None and seconds > self.clip.longest:
                raise EmbedderFailed(
                    f"{seconds:g} s is longer than the {self.clip.longest:g} s that {self.title} takes",
                    where=label,
                    hint="cut the footage into shorter windows",
                )
            clip = encode_clip(
                item.footage,
                window,
                max_side=self.clip.max_side,
                fps=self.clip.fps,
                max_bytes=self.clip.max_bytes,
            )
            vectors.append(unit_vectors([self._embed_clip(service, label, clip)], [label], self.dimension)[0])
        return np.stack(vectors) if vectors else np.zeros((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The query's vector, shape (dimension,).

        Raises:
            EmbedderFailed: the request failed, or the vector cannot be used; names the query.
            Cancelled: closed meanwhile.
        """
        label = query_label(text)
        vectors = unit_vectors([self._embed_text(self._opened(), label, text)], [label], self.dimension)
        return np.asarray(vectors[0])

    def close(self) -> None:
        """Wakes whoever waits for the rate limit or between tries (they raise Cancelled) and disconnects."""
        if self._service is not None:
            self._service.close()
            self._disconnect()

    def _opened(self) -> Service:
        if self._service is None:
            raise EmbedderFailed(f"{self.name} was not loaded")
        return self._service

    @abstractmethod
    def _connect(self, key: str, variable: str) -> None:
        """Imports the SDK and makes its client. ``variable`` is where the key came from, for hints."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Closes what ``_connect`` opened; may be called twice."""

    @abstractmethod
    def _embed_clip(self, service: Service, label: str, clip: bytes) -> object:
        """What the service returned as the vector of an MP4, unchecked."""

    @abstractmethod
    def _embed_text(self, service: Service, label: str, text: str) -> object:
        """What the service returned as the vector of a query, unchecked."""
