"""The models that can be run, with what keeps each from running here; no embedder is imported for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sentrysearch import embedders
from sentrysearch.errors import BadInput, EmbedderUnavailable, SentrySearchError


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model and whether it can run here."""

    name: str
    summary: str
    obstacle: SentrySearchError | None
    """Why it can't run, with the command that changes it."""
    download: EmbedderUnavailable | None
    """That its first run downloads its weights."""

    @property
    def can_run(self) -> bool:
        return self.obstacle is None


def model_choice(name: str) -> ModelChoice:
    """One model by the name that the user typed: a listed one, a hub id or a folder."""
    try:
        entry = embedders.find(name)
    except BadInput as error:
        return ModelChoice(name, "", error, None)
    missing = entry.missing()
    return ModelChoice(name, entry.summary, missing, None if missing else entry.not_downloaded())


def model_choices(first: Iterable[str]) -> list[ModelChoice]:
    """These models, then every other one of the catalogue."""
    return [model_choice(name) for name in dict.fromkeys((*first, *embedders.catalogue()))]
