"""The embedders by name. Adding one is adding one file to this folder.

An embedder's file has a literal ``MODELS`` (read here without running the file, so that listing models
imports no embedder) and a function ``create(name) -> Embedder``::

    MODELS = {
        "my-model": {
            "backend": "my-backend",           # what --backend selects
            "summary": "one line for `accuracy-tui models`",
            "packages": ["my_package"],        # import names it needs
            "extra": "my-extra",               # the extra that installs them, "" for none
            "keys": ["MY_API_KEY"],            # environment variables, any one of which is enough
            "weights": "Organisation/Name",    # on the hub, where they are downloaded at the first load
        },
    }
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from sentrysearch.errors import BadInput, EmbedderUnavailable
from sentrysearch.types import Embedder

LOCAL_BACKEND = "local"
QUANTISED_SUFFIX = "@4bit"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What is known of a model without importing its embedder."""

    name: str
    backend: str
    summary: str
    packages: tuple[str, ...]
    extra: str
    keys: tuple[str, ...]
    weights: str
    """The hub id of weights that are downloaded at the first load, "" for none."""
    module: str

    def missing(self) -> EmbedderUnavailable | None:
        """Why it cannot run here, with the command that changes it; None when nothing seems missing."""
        absent = [package for package in self.packages if not _installed(package)]
        if absent:
            extra = f"[{self.extra}]" if self.extra else ""  # a base dependency may be missing as well
            return EmbedderUnavailable(
                f"needs {', '.join(absent)}, not installed", hint=f"pip install 'accuracy-tui{extra}'"
            )
        if self.keys and not any(os.environ.get(key) for key in self.keys):
            return EmbedderUnavailable(
                f"no key: {' or '.join(self.keys)} is not set", hint=f"export {self.keys[0]}=…"
            )
        return None

    def not_downloaded(self) -> EmbedderUnavailable | None:
        """That its weights are not on this machine yet; loading it downloads them."""
        if not self.weights or _in_hub_cache(self.weights):
            return None
        return EmbedderUnavailable(
            "its weights are not on this machine yet",
            hint=f"hf download {self.weights} (or the first run downloads them)",
        )


def _in_hub_cache(hub_id: str) -> bool:
    """Whether anything of a checkpoint is in the hub's cache, found without importing its library."""
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface")
    try:
        cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    except RuntimeError:  # there is no home folder
        return False
    return any((cache / f"models--{hub_id.replace('/', '--')}" / "snapshots").glob("*/config.json"))


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a dotted name whose parent is absent
        return False


@functools.cache
def catalogue() -> dict[str, ModelEntry]:
    """Every built-in model by name, embedder files in name order."""
    entries: dict[str, ModelEntry] = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        for name, fields in _models_literal(path).items():
            entries[name] = ModelEntry(
                name=name,
                backend=fields["backend"],
                summary=fields["summary"],
                packages=tuple(fields.get("packages", ())),
                extra=fields.get("extra", ""),
                keys=tuple(fields.get("keys", ())),
                weights=fields.get("weights", ""),
                module=f"{__name__}.{path.stem}",
            )
    return entries


def _models_literal(path: Path) -> dict[str, dict[str, str]]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value and any(isinstance(t, ast.Name) and t.id == "MODELS" for t in targets):
                literal: dict[str, dict[str, str]] = ast.literal_eval(node.value)
                return literal
    return {}


def backends() -> list[str]:
    """What ``--backend`` takes, in the catalogue's order."""
    return list(dict.fromkeys(entry.backend for entry in catalogue().values()))


def find(name: str) -> ModelEntry:
    """The entry for a name the user typed: a listed model, or a hub id or folder for the local backend.

    Raises:
        BadInput: no such model; says which names are near.
    """
    entries = catalogue()
    if name in entries:
        return entries[name]
    plain = name.removesuffix(QUANTISED_SUFFIX)
    looks_like_checkpoint = "/" in plain or os.sep in plain or Path(plain).is_dir()
    if plain in entries and entries[plain].backend != LOCAL_BACKEND:
        raise BadInput(f"{name!r}: only models of the local backend take {QUANTISED_SUFFIX}")
    if plain in entries or looks_like_checkpoint:
        template = entries.get(plain) or next(e for e in entries.values() if e.backend == LOCAL_BACKEND)
        summary = (
            template.summary if plain in entries else "a checkpoint of the Qwen3-VL-Embedding architecture"
        )
        quantised = name != plain
        return ModelEntry(
            name=name,
            backend=LOCAL_BACKEND,
            summary=summary,
            packages=(*template.packages, *(("bitsandbytes",) if quantised else ())),
            extra="4bit" if quantised else template.extra,
            keys=template.keys,
            weights=template.weights if plain in entries else "",
            module=template.module,
        )
    near = difflib.get_close_matches(name, entries, n=3, cutoff=0.5)
    raise BadInput(
        f"no model named {name!r}",
        hint=f"did you mean {' or '.join(near)}?" if near else "`accuracy-tui models` lists them",
    )


def create(name: str) -> Embedder:
    """Makes the embedder for a name, importing its file only.

    Raises:
        BadInput: no such model.
        EmbedderUnavailable: a package or key is missing.
    """
    entry = find(name)
    missing = entry.missing()
    if missing is not None:
        raise missing
    embedder: Embedder = importlib.import_module(entry.module).create(name)
    return embedder
