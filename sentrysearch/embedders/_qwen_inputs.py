"""What Qwen3-VL-Embedding is shown: frame sizes, turns and timestamps, as the reference does it.

Read in the reference (QwenLM/Qwen3-VL-Embedding: its README, and ``src/models/qwen3_vl_embedding.py`` and
the MMEB-V2 evaluation as public forks hold them; written for transformers 4.57) and in qwen-vl-utils 0.0.14,
which it prepares video with:

- Frames: 1 a second, at least 4, at most 64, an even number (the last one repeated). Sides are multiples of
  32 (patch 16, merged 2×2). A frame has at least 128·32² and at most 768·32² pixels; together the frames
  have at most 10·768·32², where two frames count as one because the model merges them in pairs
  (``total_pixels / frames * 2``). So up to 20 frames keep the full frame, 30 frames have 512·32² each, and
  a window never exceeds 7,680 vision tokens of the reference's 8,192. (The reference passes the total
  for lists of frames, as its evaluation does, and leaves it out for file paths; its README documents it
  for video in general.)
- Turns: the instruction in the system turn, the video or the text in the user turn, the assistant's turn
  opened. Videos take the default instruction. Queries take the one of its text-to-video evaluation (MSR-VTT).
- Each pair of frames is preceded by its mean time in the clip: ``<1.0 seconds>``.

transformers' own video processor resizes by another rule (its budget is for all frames together, with no
cap for one unless ``cap_pixels_per_frame``), so frames arrive here in their final size.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sentrysearch.types import Frame, Sampling, WindowFrames

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

PREPROCESSING = "frames-1"
"""Part of the revision: raise it with any change here that moves embeddings."""

SAMPLING = Sampling(fps=1.0, min_frames=4, max_frames=64)
FACTOR = 32
FRAME_MIN_PIXELS = 128 * FACTOR**2
FRAME_MAX_PIXELS = 768 * FACTOR**2
TOTAL_PIXELS = 10 * FRAME_MAX_PIXELS
FRAMES_PER_STEP = 2
MAX_QUERY_TOKENS = 8192

WINDOW_INSTRUCTION = "Represent the user's input."
QUERY_INSTRUCTION = "Find a video that contains the following visual content."

_CLOCK = 1000  # ticks a second of the frame times handed to the processor
_VIDEO = "<|video_pad|>"
_WRAPPED_VIDEO = f"<|vision_start|>{_VIDEO}<|vision_end|>"


def frame_size(width: int, height: int, frames: int = FRAMES_PER_STEP) -> tuple[int, int]:
    """The (width, height) at which each of ``frames`` frames is shown to the model.

    Both sides are multiples of 32 and the shape is kept as nearly as that allows (qwen-vl-utils'
    ``smart_resize``): the rounded size where it is within the limits, else the size scaled by
    sqrt(limit / pixels) and rounded down (too many pixels) or up (too few).
    """
    most = min(FRAME_MAX_PIXELS, TOTAL_PIXELS * FRAMES_PER_STEP / frames)
    rounded = _multiple(round(width / FACTOR)), _multiple(round(height / FACTOR))
    pixels = rounded[0] * rounded[1]
    if pixels > most:
        shrink = math.sqrt(width * height / most)
        return _multiple(math.floor(width / shrink / FACTOR)), _multiple(math.floor(height / shrink / FACTOR))
    if pixels < FRAME_MIN_PIXELS:
        grow = math.sqrt(FRAME_MIN_PIXELS / (width * height))
        return _multiple(math.ceil(width * grow / FACTOR)), _multiple(math.ceil(height * grow / FACTOR))
    return rounded


def _multiple(times: int) -> int:
    return max(1, times) * FACTOR


def window_inputs(processor: Any, batch: Sequence[WindowFrames]) -> dict[str, torch.Tensor]:
    """The model's inputs for windows, padded on the right. Each window has at least one frame."""
    video_metadata: Any = importlib.import_module("transformers.video_utils").VideoMetadata
    prompt = _prompt(processor, WINDOW_INSTRUCTION, {"type": "video"})
    # From 5.10 on transformers replaces the bare token and would leave the template's wrapper around all
    # pairs of frames; before, and in the reference, the wrapper went with it. Bare, every version agrees.
    prompt = prompt.replace(_WRAPPED_VIDEO, _VIDEO)
    videos, metadata = [], []
    for window in batch:
        frames = [*window.frames, *window.frames[-1:] * (-len(window.frames) % FRAMES_PER_STEP)]
        size = frame_size(window.footage.width, window.footage.height, len(frames))
        videos.append(_stack([frame.data for frame in frames], *size))
        ticks = [_ticks(frame, window) for frame in frames]
        length = math.ceil((window.window.end - window.window.start) * _CLOCK)
        metadata.append(video_metadata(total_num_frames=length, fps=float(_CLOCK), frames_indices=ticks))
    return dict(
        processor(
            text=[prompt] * len(batch),
            videos=videos,
            video_metadata=metadata,
            do_sample_frames=False,
            do_resize=False,
            padding=True,
            padding_side="right",
            return_tensors="pt",
        )
    )


def query_inputs(processor: Any, text: str) -> dict[str, torch.Tensor]:
    """The model's inputs for one query."""
    prompt = _prompt(processor, QUERY_INSTRUCTION, {"type": "text", "text": text})
    # The tokenizer alone: the processor would look for the video of a query that spells a video token.
    tokens = processor.tokenizer([prompt], truncation=True, max_length=MAX_QUERY_TOKENS, return_tensors="pt")
    return {name: tokens[name] for name in ("input_ids", "attention_mask")}


def _prompt(processor: Any, instruction: str, content: dict[str, str]) -> str:
    turns = [
        {"role": "system", "content": [{"type": "text", "text": instruction}]},
        {"role": "user", "content": [content]},
    ]
    return str(processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False))


def _ticks(frame: Frame, window: WindowFrames) -> int:
    return max(0, round((frame.time - window.window.start) * _CLOCK))


def _stack(pictures: Sequence[NDArray[np.uint8]], width: int, height: int) -> torch.Tensor:
    """One uint8 tensor (frames, 3, height, width), resized where needed as the reference resizes."""
    import torch
    from torchvision.transforms.v2 import InterpolationMode, functional

    video = torch.empty((len(pictures), 3, height, width), dtype=torch.uint8)
    for position, picture in enumerate(pictures):
        channels = torch.tensor(picture).permute(2, 0, 1)
        if channels.shape[1:] != (height, width):
            channels = functional.resize(
                channels, [height, width], interpolation=InterpolationMode.BICUBIC, antialias=True
            )
        video[position] = channels
    return video
