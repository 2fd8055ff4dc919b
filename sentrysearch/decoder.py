"""One video stream of one file, opened safely and decoded on one thread.

Timestamps are turned into what a player shows: seconds from the container's start. Damage in a file is
handed on as ``Fault`` records between the pictures that do decode; nothing here raises for it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import av.error
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.stream import VideoStream

from sentrysearch.clock import Clock, Decoded, Fault
from sentrysearch.errors import FootageError

# The file protocol takes the rest of the name as it is, whatever "://", "%" or "-" is in it, and nothing
# else may be opened. Demuxers that read other files (playlists, concat scripts, image sequences) are left
# out, so a playlist that is named like a video is refused.
_DEMUXERS = (
    "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,mxf,nut,ivf,dv,rm,wtv,gxf,mjpeg,h264,hevc,vvc,obu,m4v,"
    "mpegvideo,vc1,yuv4mpegpipe"
)
_OPTIONS = {"protocol_whitelist": "file", "format_whitelist": _DEMUXERS}
# Timestamps of these are absent or, in AVI with B-frames, those of decoding order.
_UNTIMED = frozenset({"avi", "h264", "hevc", "vvc", "obu", "m4v", "mpegvideo", "mjpeg", "vc1"})
_NOT_FOOTAGE = Disposition.attached_pic | Disposition.still_image | Disposition.timed_thumbnails
# Reading goes on past errors; so many in a row without a packet between them mean the rest is gone.
_READ_ERRORS = 50
# Headers that claim more than this are not believed.
_PLAUSIBLE_SECONDS = 24 * 3600.0
_MATROSKA_START = Fraction(1, 10)
_MICROSECOND = Fraction(1, 1_000_000)
# Where footage is damaged or ends early, a picture stands for moments this long after (or before) it.
HOLD_SECONDS = 0.5
_HOLD_PICTURES = 2
_ASSUMED_RATE = Fraction(25)


class Video:
    """The video stream of a file. A context manager; not to be shared between threads.

    Raises:
        FootageError: the file cannot be read, is no video file, or holds no video stream that can be decoded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._container = _open(path)
        try:
            self.stream = _video_stream(path, self._container)
            self.stream.thread_type = "NONE"
            self.stream.codec_context.thread_count = 1
        except BaseException:
            self._container.close()
            raise
        self.format: str = self._container.format.name
        self.codec: str = self.stream.codec_context.codec.canonical_name
        self.time_base: Fraction = self.stream.time_base or Fraction(1, 90_000)
        self.rate: Fraction = _rate(self.stream)
        self.start: Fraction = self._start()
        self.timed: bool = self.format not in _UNTIMED

    def __enter__(self) -> Video:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._container.close()

    def _start(self) -> Fraction:
        """Seconds on the file's clock that a player shows as 0."""
        own = None if self.stream.start_time is None else self.stream.start_time * self.time_base
        # The annotation of PyAV lacks the None of a file without timestamps.
        container: int | None = self._container.start_time
        if container is None:
            return own or Fraction(0)
        start = container * _MICROSECOND
        # The container's value is the stream's rounded to microseconds: take the exact one.
        return own if own is not None and abs(own - start) <= _MICROSECOND else start

    def seconds(self, pts: int) -> float:
        """The time of a timestamp as a player shows it."""
        return float(pts * self.time_base - self.start)

    def hold_seconds(self, shown: Decoded | None) -> float:
        """How long a picture stands for what follows it where nothing does."""
        own = 0.0 if shown is None else shown.duration
        return max(HOLD_SECONDS, _HOLD_PICTURES / float(self.rate), own)

    def duration(self) -> float:
        """Seconds from the container's start to the end of the video; leaves it at some other position.

        What the headers say (a truncated file is missing its end, not shorter), unless the last packets go
        further; where they say nothing plausible, all packets are read.
        """
        declared = self._declared_duration()
        if declared is not None and declared <= _PLAUSIBLE_SECONDS:
            return max(declared, self._end_of_tail(declared)) if self.timed else declared
        with Video(self.path) as fresh:
            return fresh._end_of_packets()

    def _declared_duration(self) -> float | None:
        if self.stream.duration is not None and self.stream.duration > 0:
            end = self.stream.duration * self.time_base
            if self.stream.start_time is not None:
                end += self.stream.start_time * self.time_base - self.start
            return float(end)
        if self.format.startswith("matroska") and self.start > _MATROSKA_START:
            return None  # writers disagree on whether the duration counts from 0 or from the start
        container: int | None = self._container.duration
        seconds = _tagged_seconds(self.stream.metadata.get("DURATION", ""))
        if seconds is None and container is not None and container > 0:
            seconds = float(container * _MICROSECOND)
        return seconds

    def _end_of_tail(self, position: float) -> float:
        try:
            self.seek(round((Fraction(position) + self.start) / self.time_base))
        except av.error.FFmpegError:
            return 0.0
        return self._end_of_packets()

    def _end_of_packets(self) -> float:
        """The end of the last picture, in seconds, of the packets that follow."""
        end, count = Fraction(0), 0
        for packet in self.packets():
            if isinstance(packet, Fault):
                continue
            count += 1
            if packet.pts is not None:
                # With B-frames at a variable rate a packet's duration is not that of its picture.
                length = min((packet.duration or 0) * self.time_base, 1 / self.rate)
                end = max(end, packet.pts * self.time_base - self.start + length)
        return float(end) if self.timed else float(count / self.rate)

    def seek(self, pts: int) -> None:
        """Moves to a key frame at or before a timestamp, as well as the container can.

        Raises:
            av.error.FFmpegError: it cannot.
        """
        self._container.seek(pts, stream=self.stream)

    def packets(self) -> Iterator[Packet[VideoStream] | Fault]:
        """The stream's packets from the present position, reading on past errors."""
        errors = 0
        while errors < _READ_ERRORS:
            try:
                for packet in self._container.demux(self.stream):
                    if packet.size == 0 and packet.dts is None:  # PyAV's request to flush: the end
                        return
                    errors = 0
                    yield packet
                return
            except av.error.EOFError:
                return
            except (av.error.FFmpegError, OSError) as error:
                errors += 1
                yield Fault(_reason(error))

    def pictures(self) -> Iterator[Decoded | Fault]:
        """Decodes from the present position: pictures in the order they are shown, and what failed."""
        clock = Clock(self.time_base, self.start, self.rate, timed=self.timed)
        context = self.stream.codec_context
        packets: Iterator[Packet[VideoStream] | Fault | None] = self.packets()
        for packet in _then_none(packets):
            if isinstance(packet, Fault):
                yield packet
                continue
            if packet is not None:
                clock.sent(packet)
            try:
                frames = context.decode(packet)
            except av.error.EOFError:
                break
            except av.error.FFmpegError as error:
                clock.lost()
                yield Fault(_reason(error))
                continue
            for frame in frames:
                yield from clock.stamp(frame)
        yield from clock.rest()


def _then_none(
    packets: Iterator[Packet[VideoStream] | Fault | None],
) -> Iterator[Packet[VideoStream] | Fault | None]:
    yield from packets
    yield None  # asks the decoder for what it still holds


def _open(path: Path) -> InputContainer:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise FootageError(_reason(error), where=path) from error
    if not path.is_file():
        raise FootageError("is a folder" if path.is_dir() else "is not a file", where=path)
    if status.st_size == 0:
        raise FootageError("the file is empty", where=path)
    with contextlib.ExitStack() as cleanup:
        source: Any = f"file:{path.absolute()}"
        try:
            source.encode()
        except UnicodeEncodeError:  # a name that is no UTF-8 cannot pass through PyAV
            source = cleanup.enter_context(path.open("rb"))
        try:
            container: InputContainer = av.open(source, "r", options=_OPTIONS, metadata_errors="replace")
        except av.error.InvalidDataError as error:
            raise FootageError("is not a video file, or is damaged beyond reading", where=path) from error
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise FootageError(f"cannot be opened: {_reason(error)}", where=path) from error
        cleanup.pop_all()
        return container


def _video_stream(path: Path, container: InputContainer) -> VideoStream:
    streams = [stream for stream in container.streams.video if not stream.disposition & _NOT_FOOTAGE]
    if not streams:
        raise FootageError("holds no video", where=path)
    stream = next((stream for stream in streams if stream.disposition & Disposition.default), streams[0])
    if stream.codec_context is None:
        raise FootageError("its video is of a kind that cannot be decoded here", where=path)
    return stream


def _rate(stream: VideoStream) -> Fraction:
    for rate in (stream.average_rate, stream.guessed_rate):
        if rate:
            return Fraction(rate)
    return _ASSUMED_RATE


def _tagged_seconds(text: str) -> float | None:
    """Matroska's per-stream DURATION tag, "HH:MM:SS.fraction"."""
    try:
        hours, minutes, seconds = text.strip("\0 ").split(":")
        value = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except ValueError:
        return None
    return value if value > 0 else None


def _reason(error: BaseException) -> str:
    """What a library said, without its codes and file names."""
    number = getattr(error, "errno", None)
    if isinstance(error, OSError) and not isinstance(error, av.error.FFmpegError) and number:
        return os.strerror(number)
    text: str = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
