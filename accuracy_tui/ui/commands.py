"""The command palette's commands: the actions of the table of keys that have a title."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from accuracy_tui.ui.keys import GRID, Key


class KeyCommands(Provider):
    """Finds actions by their titles."""

    async def discover(self) -> Hits:
        for key in self._keys():
            yield DiscoveryHit(self._display(key), partial(self.screen.run_action, key.action), help=key.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for key in self._keys():
            score = matcher.match(key.title)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(key.title),
                    partial(self.screen.run_action, key.action),
                    help=key.help,
                )

    def _keys(self) -> list[Key]:
        return [key for key in GRID if key.title]

    @staticmethod
    def _display(key: Key) -> str:
        return f"{key.title} ({key.shown})" if key.shown else key.title
