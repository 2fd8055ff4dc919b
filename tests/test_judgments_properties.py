"""Any course of judging agrees with a dictionary; any file is read rightly or refused, and never changed."""

import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from accuracy_tui.judgments import Judgments
from sentrysearch.errors import BadInput
from sentrysearch.types import Window
from support.judgments import CLIP, SEED_FILE, plain_verdicts, verdicts_of, window

QUERIES = st.sampled_from(["red car", "no", 'q"uo\\te', "l\nf", "\U0001f697"]) | st.text(max_size=8)
NUMBERS = st.integers(0, 6)
FILES = [
    "",
    SEED_FILE,
    "# note\n",
    '"red car": {"0-30": false}\n',
    "{}",
    '"no":\r\n    "25.0-55.0": true # x\r\n',
]


# In memory where there is such a disk: thousands of syncs that this is not about.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def folder():
    return Path(tempfile.mkdtemp(dir=MEMORY))


class Judging(RuleBasedStateMachine):
    """Verdicts, undo, folds, outside edits of single verdicts, crashes and new sessions in any order.

    The model: the verdicts in effect, the history of those given here, and the items in conflict.
    """

    def __init__(self):
        super().__init__()
        self.folder = folder()
        # Nobody but us edits: a fold need not wait for an edit to rest.
        self.patches = [
            mock.patch(f"accuracy_tui.{module}.SETTLED", 0.0) for module in ("judgments", "judgment_store")
        ]
        for patch in self.patches:
            patch.start()
        self.path = self.folder / "judgments.yaml"

    @initialize(text=st.sampled_from(FILES))
    def start(self, text):
        self.path.write_bytes(text.encode())
        self.model = dict(verdicts_of(self.path))
        self.history = []
        self.conflicts, self.bases = {}, {}
        self.judgments = Judgments.open(self.path, [CLIP], write=True)

    def teardown(self):
        if hasattr(self, "judgments"):
            self.judgments.close()
        shutil.rmtree(self.folder)
        for patch in self.patches:
            patch.stop()

    def set(self, item, value):
        if value is None:
            self.model.pop(item, None)
        else:
            self.model[item] = value

    @rule(query=QUERIES, number=NUMBERS, value=st.booleans())
    def put(self, query, number, value):
        try:
            query.encode()
        except UnicodeEncodeError:
            with pytest.raises(BadInput):
                self.judgments.put(query, window(number), value)
            return
        item = (query, window(number))
        before = self.model.get(item)
        self.judgments.put(*item, value)
        if before != value:
            self.history.append((item, before, value))
        self.set(item, value)
        self.conflicts.pop(item, None)

    @rule()
    def undo(self):
        undone = self.judgments.undo()
        while self.history:
            item, before, value = self.history.pop()
            if self.model.get(item) != value:
                continue  # changed outside since
            if item in self.conflicts:
                before = self.conflicts.pop(item)
            if before == value:
                continue
            self.set(item, before)
            assert undone == (*item, before)
            return
        assert undone is None

    @rule()
    def fold(self):
        self.judgments.sync()
        on_file = {
            (query, Window(CLIP.name, *map(float, key.split("-")))): value
            for query, entries in plain_verdicts(self.path).items()
            for key, value in entries.items()
        }
        expected = dict(self.model)
        for item, theirs in self.conflicts.items():
            expected.pop(item, None)
            if theirs is not None:
                expected[item] = theirs
        assert on_file == expected

    @rule(data=st.data())
    def outside_edit(self, data):
        """Someone flips a line's verdict, or deletes the line."""
        self.judgments.sync()  # so that the model need not merge what is pending
        assume(self.path.exists())
        before = verdicts_of(self.path)
        lines = self.path.read_bytes().decode().split("\n")
        places = [
            place
            for place, line in enumerate(lines)
            if line.startswith(" ") and (": true" in line or ": false" in line)
        ]
        assume(places)
        place = data.draw(st.sampled_from(places))
        line = lines[place]
        if data.draw(st.booleans()):
            lines[place] = (
                line.replace(": true", ": false") if ": true" in line else line.replace(": false", ": true")
            )
        else:
            del lines[place]
        self.path.write_bytes("\n".join(lines).encode())
        pending = data.draw(st.booleans())
        after = yaml.safe_load(self.path.read_bytes()) or {}
        theirs = {}
        for query, entries in after.items():
            for key, value in (entries or {}).items():
                theirs[query, Window(CLIP.name, *map(float, key.split("-")))] = value
        changed = [
            item for item in before if item not in self.conflicts and theirs.get(item) != self.model.get(item)
        ]
        if pending and changed:
            # Judged here, before the edit was noticed, otherwise than both: a conflict.
            item = changed[0]
            was, now = self.model[item], theirs.get(item)
            mine = None if now is not None else not was
            self.judgments.put(*item, mine)
            self.history.append((item, was, mine))
            self.set(item, mine)
            self.conflicts[item], self.bases[item] = now, was
            changed = []
        for item in changed:
            self.set(item, theirs.get(item))
        for item in list(self.conflicts):
            now = theirs.get(item)
            if now in (self.model.get(item), self.bases[item]):  # agrees, or went back to what it was
                del self.conflicts[item]
            else:
                self.conflicts[item] = now
        self.judgments.poll()

    @rule()
    def reopen(self):
        self.judgments.close()
        self.judgments = Judgments.open(self.path, [CLIP], write=True)

    @rule()
    def crash(self):
        """Goes on from a copy of the files as they are, as after a kill."""
        copy = folder()
        shutil.copytree(self.folder, copy, dirs_exist_ok=True)
        self.judgments.close()
        shutil.rmtree(self.folder)
        self.folder, self.path = copy, copy / "judgments.yaml"
        self.judgments = Judgments.open(self.path, [CLIP], write=True)

    @invariant()
    def agrees(self):
        if hasattr(self, "judgments"):
            assert {(query, where): value for query, where, value in self.judgments.items()} == self.model
            assert {(c.query, c.window): c.theirs for c in self.judgments.conflicts} == self.conflicts
            assert self.judgments.problem is None


Judging.TestCase.settings = settings(
    max_examples=50, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestJudging = Judging.TestCase

LINES = st.sampled_from(
    [
        *('"red car":', '"no":', "red car:", "'no' :", '"a": {}', '"b": {"0.0-1.0": true}', "? q", ": x"),
        *('  "0.0-30.0": true', '  "25.0-55.0": false', '  "0.0-30.0": true # c', "    '1-2': True"),
        *('  "c@d.mp4@1.0-2.0": false', '  "1.0-2.0": yes', '  "2-1": true', '  "nan-1": true'),
        *("  0.0-30.0: false", "# comment", "", "  # c", "<<<<<<< a", "=======", "{", "}", "---", "..."),
        *('# footage "clip.mp4" sha256:1', f'# footage "clip.mp4" {CLIP.fingerprint}', '"red car":\r'),
        *('  "0.0-30.0": true\r', "&a", "*a", "!!x", '"'),
    ]
)
ANY_FILE = (
    st.lists(LINES, max_size=12).map(lambda lines: "\n".join(lines).encode())
    | st.binary(max_size=60)
    | st.tuples(st.lists(LINES, max_size=6), st.text(max_size=10)).map(
        lambda parts: ("\n".join(parts[0]) + parts[1]).encode(errors="surrogatepass")
    )
)


@settings(max_examples=400, deadline=None)
@given(data=ANY_FILE)
def test_any_file_is_refused_and_unchanged_or_read_as_yaml_reads_it(data):
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        path = Path(name) / "judgments.yaml"
        path.write_bytes(data)
        try:
            judgments = Judgments.open(path, [CLIP], write=True)
        except BadInput as error:
            assert "\n" not in str(error) and str(path) in str(error)
            assert path.read_bytes() == data and list(path.parent.iterdir()) == [path]
            return
        judgments.close()
        assert path.read_bytes() == data
        theirs = {
            (str(query), key if "@" in key else f"clip.mp4@{key}", value)
            for query, entries in (yaml.load(data, yaml.CBaseLoader) or {}).items()  # noqa: S506
            for key, value in (entries or {}).items()
        }
        ours = {(query, where, str(value).lower()) for query, where, value in judgments.items()}

        def named(key):
            footage, _, times = key.rpartition("@")
            return Window(footage, *map(float, times.split("-")))

        assert ours == {(query, named(key), value.lower()) for query, key, value in theirs}
        # And it takes a verdict, all others staying as they are.
        with Judgments.open(path, [CLIP], write=True) as judgments:
            judgments.put("red car", window(3), True)
        after = verdicts_of(path)
        assert after.pop(("red car", window(3))) is True
        assert {(query, where, str(value).lower()) for (query, where), value in after.items()} == {
            entry for entry in ours if entry[:2] != ("red car", window(3))
        }
        plain_verdicts(path)


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=80), at=st.integers(0, 600), drop=st.integers(0, 80))
def test_a_journal_with_any_bytes_in_it_is_read_as_far_as_it_is_whole(data, at, drop):
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        path = Path(name) / "judgments.yaml"
        path.write_text(SEED_FILE)
        before = verdicts_of(path)
        with Judgments.open(path, [CLIP], write=True) as judgments:
            for number in (2, 3, 4):
                judgments.put("red car", window(number), True)
            journal = path.with_name(f".{path.name}.journal").read_bytes()
            path.with_name("kept").write_bytes(journal)
        path.write_text(SEED_FILE)
        path.with_name(f".{path.name}.journal").write_bytes(journal[:at] + data + journal[at + drop :])
        with Judgments.open(path, [CLIP], write=True) as judgments:
            found = {(query, where): value for query, where, value in judgments.items()}
            assert {item: value for item, value in found.items() if item in before} == before
            assert set(found) - set(before) <= {("red car", window(number)) for number in (2, 3, 4)}
            judgments.put("no", window(5), True)
        assert verdicts_of(path) == found | {("no", window(5)): True}
