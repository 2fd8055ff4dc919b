"""Some pictures of a window, evenly apart, to be seen all at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from accuracy_tui.player import PlayerError
from accuracy_tui.player.clip_player import Picture
from sentrysearch.errors import SentrySearchError
from sentrysearch.types import Footage, Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def stills(
    footage: Footage, window: Window, count: int, width: int, height: int, pixel_shape: float = 1.0
) -> list[Picture]:
    """The pictures in the middle of ``count`` equal parts of a window, in time order.

    Args:
        width, height: what each must fit into, in pixels; its shape is kept.
        pixel_shape: how wide a pixel is shown over its height.

    Raises:
        PlayerError: nothing of the window can be decoded.
    """
    from sentrysearch.frames import sample
    from sentrysearch.types import Picture as Decoded
    from sentrysearch.types import Sampling, WindowFrames

    def fitted(picture: Decoded) -> NDArray[np.uint8]:
        across = picture.width / pixel_shape
        scale = min(width / across, height / picture.height)
        return picture.rgb(max(2, round(across * scale)), max(2, round(picture.height * scale)))

    seconds = max(0.1, window.end - window.start)
    sampling = Sampling(fps=count / seconds, min_frames=1, max_frames=count + 1)
    pictures: list[Picture] = []
    try:
        for item in sample([footage], [window], sampling, fitted, cancel=threading.Event(), segments=1):
            if isinstance(item, WindowFrames):
                pictures = [Picture(frame.data, frame.time) for frame in item.frames]
    except SentrySearchError as error:
        raise PlayerError(str(error)) from error
    if not pictures:
        raise PlayerError("nothing of this window can be decoded", where=footage.name)
    return pictures[:count]
