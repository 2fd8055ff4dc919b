"""The words of the data line: footage → windows → vectors → ranked hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # listing models and reading runs must stay light
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Footage:
    """One video file, probed.

    Times everywhere else are seconds as a player shows them: 0 is the container's start, whatever
    timestamp the file gives it. ``start_time`` (seconds) is what to add to reach the file's own clock.
    """

    name: str
    """Stable and unique in a benchmark: the file name, or its path below the folder the user named."""
    path: Path
    fingerprint: str
    """``sha256:<hex>`` of the whole file."""
    duration: float
    """Seconds of video from ``start_time``."""
    start_time: float
    width: int
    """Pixels as shown, after rotation and pixel aspect are applied."""
    height: int
    rotation: int
    """Degrees clockwise (0, 90, 180, 270) to turn a decoded picture for showing."""
    codec: str
    frame_rate: float
    """Average pictures a second; 0 where the file doesn't say."""


class Window(NamedTuple):
    """A span of one footage in seconds, both ends multiples of 0.1: what is retrieved and judged.

    A tuple, as is ``Hit``: a benchmark's results are tens of thousands of them, made and looked up at every
    start.
    """

    footage: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """How footage is cut: ``length`` and ``overlap`` in seconds, overlap below length."""

    length: float = 30.0
    overlap: float = 5.0


class Hit(NamedTuple):
    """A window at a rank (1-based) with a cosine score, for one query and one model."""

    rank: int
    window: Window
    score: float


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which pictures of a window an embedder sees.

    Samples lie in the middle of steps of ``1/fps`` seconds counted from the footage's start, so windows
    that overlap share them. A window that would get fewer than ``min_frames`` is sampled more finely, one
    that would get more than ``max_frames`` more coarsely.
    """

    fps: float = 1.0
    min_frames: int = 1
    max_frames: int = 64


class Picture(Protocol):
    """A decoded picture, upright, before any copy into RGB."""

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    def rgb(self, width: int, height: int) -> NDArray[np.uint8]:
        """The whole picture scaled to (height, width, 3), uint8 RGB."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One sampled picture as its embedder prepared it; the same object in every window that holds it."""

    footage: str
    time: float
    data: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class WindowFrames:
    """A window with its sampled frames in time order (none for embedders that encode clips themselves)."""

    window: Window
    footage: Footage
    frames: tuple[Frame, ...]


class Embedder(Protocol):
    """Maps windows and queries into one vector space. One file each in ``sentrysearch/embedders``.

    Making one is cheap and imports nothing heavy; ``load`` does the work. Vectors are float32, finite and
    of length 1, so that their dot product is the cosine.
    """

    @property
    def name(self) -> str:
        """As the user types it."""
        ...

    @property
    def revision(self) -> str:
        """Names weights and preprocessing: equal revisions give equal vectors. Known before ``load``."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def sampling(self) -> Sampling | None:
        """How windows are sampled for it; None when it encodes each window's clip itself."""
        ...

    @property
    def batch_size(self) -> int:
        """Windows it wants in one ``embed_windows`` call."""
        ...

    @property
    def concurrency(self) -> int:
        """How many ``embed_windows`` calls may run at once, each on a thread of its own."""
        ...

    def load(self) -> None:
        """Loads weights or opens the connection.

        Raises:
            EmbedderUnavailable: a package, key or hardware is missing.
        """
        ...

    def prepare(self, picture: Picture) -> NDArray[np.uint8]:
        """What the model takes of one picture; called once a picture, on the decoder's thread."""
        ...

    def embed_windows(self, batch: Sequence[WindowFrames]) -> NDArray[np.float32]:
        """Vectors of shape (len(batch), dimension).

        Raises:
            EmbedderFailed: names the window whose vector could not be had.
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The query's vector, shape (dimension,)."""
        ...

    def close(self) -> None:
        """Frees the model's memory or connections."""
        ...
