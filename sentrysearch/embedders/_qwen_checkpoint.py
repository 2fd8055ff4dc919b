"""Where a Qwen3-VL-Embedding checkpoint is, what it is, and loading it."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentrysearch import embedders
from sentrysearch.embedders import _memory, _qwen_inputs
from sentrysearch.errors import EmbedderUnavailable, FootageError

ARCHITECTURE = "qwen3_vl"

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
_WEIGHTS = ".safetensors"
_SUFFIXES = (_WEIGHTS, ".json", ".jinja", ".txt")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on the hub or in a folder; its files need not be here yet."""

    location: str
    """Hub id, or path of the folder."""
    folder: Path | None
    """Where its files are; None while they are not on this machine."""
    commit: str | None
    """The commit of a hub checkpoint in the local cache."""

    @property
    def on_hub(self) -> bool:
        return self.folder is None or self.commit is not None

    def identity(self) -> str:
        """Names the weights: hub id and commit (``Org/Name@0123abcd…``), or the hash of a folder's files.

        Raises:
            EmbedderUnavailable: a file of the folder cannot be read.
        """
        if self.folder is None:
            return self.location
        if self.commit is not None:
            return f"{self.location}@{self.commit}"
        return "sha256:" + _folder_hash(self.folder)

    def hidden_size(self) -> int | None:
        """Length of the model's full vectors; None while its configuration is not here or not readable."""
        try:
            config = json.loads((self.folder / "config.json").read_bytes()) if self.folder else {}
            return int(config["text_config"]["hidden_size"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def resolve(name: str) -> Checkpoint:
    """The checkpoint for ``qwen8b``, ``qwen2b``, a folder, or a hub id. A folder of that name comes first.

    A hub checkpoint already in the local cache is pinned to the commit found there: no newer weights are
    taken unasked, and nothing is looked up on the network.

    Raises:
        EmbedderUnavailable: neither a folder nor the form of a hub id.
    """
    try:
        folder = Path(name).expanduser()
    except RuntimeError:  # a ~user who doesn't exist
        folder = Path(name)
    hub_id = embedders.catalogue()[name].weights if name in embedders.catalogue() else name
    if hub_id == name and folder.is_dir():
        return Checkpoint(str(folder), folder, None)
    if not _HUB_ID.fullmatch(hub_id):
        raise EmbedderUnavailable("no such folder", where=name, hint="give a checkpoint's folder or hub id")
    import huggingface_hub

    cached = huggingface_hub.try_to_load_from_cache(hub_id, "config.json")
    if not isinstance(cached, str):
        return Checkpoint(hub_id, None, None)
    snapshot = Path(cached).parent
    return Checkpoint(hub_id, snapshot, snapshot.name)


def load(checkpoint: Checkpoint, *, device: str, dtype: str, quantised: bool) -> tuple[Any, Any]:
    """The processor and the model (``Qwen3VLModel``, without its language head) on ``device``.

    Only safetensors are read, and no code that comes with a checkpoint is run.

    Raises:
        EmbedderUnavailable: not here and not to be had, not this architecture, incomplete or damaged files,
            or no memory for it.
    """
    transformers = _quiet_transformers()
    try:
        folder = _files(checkpoint)
        config = _config(folder, checkpoint.location)
        _check_memory(folder, config, device)
        processor = transformers.Qwen3VLProcessor.from_pretrained(folder)
        _check_processor(processor, config, folder)
        options = {"dtype": dtype, "device_map": device}
        if quantised:
            options["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
            )
        model, report = transformers.Qwen3VLModel.from_pretrained(
            folder, use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    except EmbedderUnavailable:
        raise
    except Exception as error:  # each library has its own; the translation names those a user can act on
        raise _unavailable(error, checkpoint.location, device) from error
    # These tensors would be random numbers.
    lost = sorted(report["missing_keys"]) + sorted(name for name, *_ in report["mismatched_keys"])
    if lost:
        raise EmbedderUnavailable(
            f"{len(lost)} of its weights are missing or of another shape, the first is {lost[0]}",
            where=folder,
        )
    return processor, model.eval()


def _quiet_transformers() -> Any:
    """transformers, saying nothing on stderr: the console draws there."""
    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    hub: Any = importlib.import_module("huggingface_hub.utils")
    hub.logging.set_verbosity_error()
    hub.disable_progress_bars()
    return transformers


def _files(checkpoint: Checkpoint) -> Path:
    """The folder with all of the checkpoint's files, downloaded first where they aren't here."""
    folder = checkpoint.folder
    if folder is None or (checkpoint.on_hub and not _complete(folder)):
        hub: Any = importlib.import_module("huggingface_hub")
        wanted = {"repo_id": checkpoint.location, "revision": checkpoint.commit}
        config = Path(hub.hf_hub_download(filename="config.json", **wanted))
        _config(config.parent, checkpoint.location)  # before downloading gigabytes
        folder = Path(hub.snapshot_download(allow_patterns=[f"*{suffix}" for suffix in _SUFFIXES], **wanted))
    missing = _missing_weights(folder)
    if missing and (folder / "config.json").is_file():
        raise EmbedderUnavailable(
            f"its weights lack {missing[0]} (no other format is read)",
            where=folder,
            hint=_download_hint(checkpoint.location) if checkpoint.on_hub else None,
        )
    return folder


def _complete(folder: Path) -> bool:
    """Whether a snapshot in the hub's cache was downloaded to its end."""
    return not _missing_weights(folder) and (folder / "tokenizer.json").is_file()


def _missing_weights(folder: Path) -> list[str]:
    """The weight files that a checkpoint's folder lacks: those of its index, or the single one."""
    index = folder / "model.safetensors.index.json"
    names = {"model.safetensors"}
    if index.is_file():
        try:
            names = set(json.loads(index.read_bytes())["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return [index.name]
    return sorted(name for name in names if not (folder / str(name)).is_file())


def _config(folder: Path, location: str) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except FileNotFoundError:
        raise EmbedderUnavailable("not a checkpoint, it has no config.json", where=location) from None
    kind = config.get("model_type", "nameless") if isinstance(config, dict) else "nameless"
    if kind != ARCHITECTURE:
        raise EmbedderUnavailable(f"a {kind} checkpoint, not Qwen3-VL", where=location)
    return dict(config)


def _check_memory(folder: Path, config: dict[str, Any], device: str) -> None:
    """On the CPU a model too large isn't refused by the system: it kills the process, and what runs in it."""
    available = _memory.available_bytes()
    if device != "cpu" or available is None:
        return
    stored = sum(path.stat().st_size for path in folder.glob(f"*{_WEIGHTS}"))
    needed = stored if config.get("dtype", config.get("torch_dtype")) == "float32" else 2 * stored
    if needed > available:
        raise EmbedderUnavailable(
            f"its weights need {_memory.gigabytes(needed)}, {_memory.gigabytes(available)} are free",
            where=folder,
            hint="use a smaller model, or a machine with a GPU",
        )


def _check_processor(processor: Any, config: dict[str, Any], folder: Path) -> None:
    video = processor.video_processor
    if video.patch_size * video.merge_size != _qwen_inputs.FACTOR:
        raise EmbedderUnavailable(f"patches of {video.patch_size} pixels, not 16", where=folder)
    if processor.video_token_id != config.get("video_token_id", processor.video_token_id):
        raise EmbedderUnavailable("the tokenizer is missing or not this model's", where=folder)
    if not processor.chat_template:
        raise EmbedderUnavailable("the turn template (chat_template.jinja) is missing", where=folder)


def _unavailable(error: Exception, where: str, device: str) -> EmbedderUnavailable:
    from huggingface_hub import errors

    causes = _causes(error)

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if any(_memory.is_out_of_memory(cause) for cause in causes):
        return EmbedderUnavailable(
            f"out of memory on {device} while loading", where=where, hint="use qwen2b, or add @4bit on CUDA"
        )
    if caused_by(errors.GatedRepoError):
        return EmbedderUnavailable(
            "its owner grants access on request",
            where=where,
            hint=f"ask for it on the hub, then `hf auth login` and `hf download {where}`",
        )
    if caused_by(errors.RepositoryNotFoundError, errors.RevisionNotFoundError):
        return EmbedderUnavailable("no such folder, and no such public model on the hub", where=where)
    if caused_by(errors.LocalEntryNotFoundError, errors.HfHubHTTPError, ConnectionError, TimeoutError):
        return EmbedderUnavailable(
            "not all of it is in the local cache, and the hub cannot be reached",
            where=where,
            hint=_download_hint(where),
        )
    return EmbedderUnavailable(
        f"cannot be loaded: {described(error)}",
        where=where,
        hint="if its files are incomplete, download them again",
    )


def _download_hint(hub_id: str) -> str:
    return f"run `hf download {hub_id}` where there is a network, or give a local folder"


def described(error: BaseException) -> str:
    """A library's error in one line: its kind and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__


def _causes(error: BaseException | None) -> list[BaseException]:
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _folder_hash(folder: Path) -> str:
    """Hash over the names and contents of the weights and of every file that says how to use them."""
    from sentrysearch.footage import fingerprint  # remembers the hashes of large files

    digest = hashlib.sha256()
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix == _WEIGHTS:
                digest.update(f"{path.name}\0{fingerprint(path)}\0".encode())
            elif path.suffix in _SUFFIXES:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.name}\0sha256:{content}\0".encode())
    except (OSError, FootageError) as error:
        raise EmbedderUnavailable(f"cannot be read: {described(error)}", where=folder) from error
    return digest.hexdigest()
