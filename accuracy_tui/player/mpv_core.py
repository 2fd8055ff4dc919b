"""An mpv that can be trusted with any file: it opens and runs nothing but the file named and takes no key."""

from __future__ import annotations

from typing import Any

OPTIONS = {
    "config": "no",
    "load-scripts": "no",
    "ytdl": "no",
    "osc": "no",
    "input-default-bindings": "no",
    "input-media-keys": "no",
    "access-references": "no",
    "ordered-chapters": "no",
    "autoload-files": "no",
    "demuxer-lavf-o": "protocol_whitelist=[file]",
    "resume-playback": "no",
    "save-position-on-quit": "no",
    "audio": "no",
    "sub": "no",
    "idle": "yes",
    "keep-open": "always",
    "image-display-duration": "inf",
    "stop-screensaver": "no",
    "hr-seek": "yes",
    # The keyboard stays with the terminal that asks; a clip of 176 pixels can still be judged.
    "focus-on-open": "no",
    "autofit-smaller": "640x480",
    "autofit-larger": "60%x60%",
}


def make_mpv(output: str, complaints: list[str], **more: str) -> Any:
    """A python-mpv player, idle.

    Args:
        output: its video output.
        complaints: errors that mpv reports are appended.
        more: further options.

    Raises:
        ImportError, OSError: there is no python-mpv, or it finds no libmpv that it can use.
    """
    import mpv

    def complain(_level: str, part: str, text: str) -> None:
        complaints.append(f"{part}: {text.strip()}")

    options = {**OPTIONS, **more, "vo": output}
    while True:
        try:
            return mpv.MPV(**options, loglevel="error", log_handler=complain)
        except AttributeError as error:  # an option that this version or build of mpv doesn't have
            unknown = error.args[2][1].decode() if len(error.args) > 2 else ""
            if unknown not in options or unknown == "vo":
                raise OSError(str(error)) from error
            del options[unknown]
