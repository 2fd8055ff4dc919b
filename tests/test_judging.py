"""Judging on a plain terminal: what each key does, by the lines said and the verdicts given."""

from itertools import pairwise
from pathlib import Path

import pytest

from accuracy_tui.judging import Outcome, clock, judge
from accuracy_tui.pool import PoolItem
from sentrysearch.errors import SentrySearchError
from sentrysearch.types import Footage, Window

FOOTAGE = Footage("a b.mp4", Path("/clips/a b.mp4"), "sha256:00", 90.0, 0.0, 640, 360, 0, "h264", 25.0)
ITEMS = [
    PoolItem("red car", Window("a b.mp4", 62.5, 64.5)),
    PoolItem("red car", Window("a b.mp4", 0.0, 2.0)),
    PoolItem("dog", Window("a b.mp4", 0.0, 2.0)),
]


class Memory:
    """Verdicts in memory, with the undo of an earlier session behind this one's."""

    def __init__(self, earlier=()):
        self.verdicts = {}
        self.history = list(earlier)

    def put(self, query, window, value):
        self.history.append((query, window, self.verdicts.get((query, window))))
        self.verdicts[query, window] = value

    def undo(self):
        if not self.history:
            return None
        query, window, previous = self.history.pop()
        self.verdicts.pop((query, window), None)
        if previous is not None:
            self.verdicts[query, window] = previous
        return query, window, previous


def play(keys, *, items=ITEMS, verdicts=None, clips=None, footages=None, order=None):
    verdicts = verdicts or Memory()
    said = []
    pressed = iter(keys)
    outcome = judge(
        items,
        verdicts,
        {FOOTAGE.name: FOOTAGE} if footages is None else footages,
        read_key=lambda: next(pressed, ""),
        say=said.append,
        clips=clips,
        command=lambda footage, window: f"mpv {footage.name} {window.start}",
        order=order,
    )
    return (
        outcome,
        {(query, window.start): value for (query, window), value in verdicts.verdicts.items()},
        said,
    )


def test_y_and_n_record_and_go_on():
    outcome, verdicts, said = play("yny")
    assert outcome == Outcome(judged=3, left=0)
    assert verdicts == {("red car", 62.5): True, ("red car", 0.0): False, ("dog", 0.0): True}
    assert "1/3  Does this show “red car”?" in said
    assert "  /clips/a b.mp4  1:02.5–1:04.5" in said
    assert "  mpv a b.mp4 62.5" in said


def test_skip_leaves_an_item_unjudged():
    outcome, verdicts, _ = play("sny")
    assert outcome == Outcome(judged=2, left=1)
    assert ("red car", 62.5) not in verdicts


def test_undo_goes_back_to_the_item():
    outcome, verdicts, said = play("yuny" + "y")
    assert verdicts == {("red car", 62.5): False, ("red car", 0.0): True, ("dog", 0.0): True}
    assert outcome == Outcome(judged=3, left=0)
    assert "  undone: red car · a b.mp4 1:02.5–1:04.5 is unjudged again" in said


def test_undo_past_a_skip_goes_back_to_the_judged_item():
    _, verdicts, _ = play("ysun" + "q")
    assert verdicts == {("red car", 62.5): False}


def test_undo_reaches_earlier_sessions_and_says_when_there_is_no_more():
    old = Memory([("bicycle", Window("a b.mp4", 4.0, 6.0), True)])
    _, _, said = play("uuq", verdicts=old)
    assert "  undone: bicycle · a b.mp4 0:04.0–0:06.0 is yes again" in said
    assert "  nothing to undo" in said


def test_what_an_earlier_session_judged_is_asked_again_once_undone():
    old = Memory([("bicycle", Window("a b.mp4", 4.0, 6.0), None)])
    outcome, verdicts, said = play("yuuny" + "q", verdicts=old)
    assert "1/4  Does this show “bicycle”?" in said
    assert verdicts == {("bicycle", 4.0): False, ("red car", 62.5): True}
    assert outcome == Outcome(judged=2, left=2)


def test_the_last_verdict_can_be_undone_too():
    outcome, verdicts, said = play("yny" + "u" + "n" + "q")
    assert outcome == Outcome(judged=3, left=0)
    assert verdicts["dog", 0.0] is False
    assert "  that was the last · u undo · any other key ends" in said


@pytest.mark.parametrize("end", ["q", "", "\x03", "\x04"])
def test_quitting_and_the_end_of_input_leave_the_rest(end):
    outcome, verdicts, _ = play(["y", end, "y"])
    assert outcome == Outcome(judged=1, left=2)
    assert len(verdicts) == 1


def test_another_key_says_the_keys_and_judges_nothing():
    outcome, verdicts, said = play("xyq")
    assert verdicts == {("red car", 62.5): True}
    assert outcome.judged == 1
    assert sum("s skip" in line for line in said) == 3


def test_hostile_text_reaches_the_terminal_escaped():
    hostile = PoolItem("\x1b[2Jwipe", Window("\x1b]0;t\x07.mp4", 0.0, 1.0))
    _, _, said = play("q", items=[hostile])
    assert not any("\x1b" in line or "\x07" in line for line in said)


def test_clips_are_played_and_played_again_and_a_failure_is_said():
    shown = []

    class Clips:
        def show(self, footage, window):
            shown.append(window.start)
            if len(shown) == 3:
                raise SentrySearchError("mpv died")

    outcome, _, said = play("pyq", clips=Clips())
    assert shown == [62.5, 62.5, 0.0]
    assert outcome.judged == 1
    assert "  not played: mpv died" in said and "  mpv a b.mp4 0.0" in said


def test_a_verdict_that_could_not_be_saved_is_not_acknowledged():
    class Full(Memory):
        def put(self, query, window, value):
            raise SentrySearchError("disk full")

    said = []
    with pytest.raises(SentrySearchError, match="disk full"):
        judge(ITEMS, Full(), {}, read_key=lambda: "y", say=said.append, clips=None, command=lambda *_: "")
    assert not any("✓" in line for line in said)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "0:00.0"), (62.5, "1:02.5"), (59.96, "1:00.0"), (3723.4, "1:02:03.4")]
)
def test_clock(seconds, shown):
    assert clock(seconds) == shown


class LongestFirst:
    """The window that lasts longest first, but a query that was begun is finished; notes what it is told."""

    def __init__(self):
        self.told = []

    def changed(self, query):
        self.told.append(query)

    def arrange(self, items, after):
        self.told.append(after)
        return sorted(items, key=lambda item: (item.query != after, item.window.start - item.window.end))

    def why(self, item):
        return f"lasts {item.window.end - item.window.start:.0f}\x1b s"


SPANS = [
    PoolItem("q", Window("a b.mp4", 0.0, 1.0)),
    PoolItem("q", Window("a b.mp4", 5.0, 7.0)),
    PoolItem("r", Window("a b.mp4", 0.0, 3.0)),
]


def asked(said):
    return [line.split("“")[1][0] + following.split()[1][0] for line, following in questions(said)]


def questions(said):
    return [pair for pair in pairwise(said) if "Does this show" in pair[0]]


def test_an_order_is_asked_anew_after_each_verdict():
    order = LongestFirst()
    outcome, _, said = play("yny", items=SPANS, order=order)
    assert outcome == Outcome(judged=3, left=0)
    assert asked(said) == ["r3", "q2", "q1"]
    assert order.told == [None, "r", "r", "q", "q", "q", "q"]
    assert questions(said)[0][1] == "  lasts 3\\x1b s"


def test_an_order_leaves_what_was_skipped_and_what_is_undone_in_place():
    outcome, verdicts, said = play("syuyy", items=SPANS, order=LongestFirst())
    assert asked(said) == ["r3", "q2", "q1", "q2", "q1"]
    assert outcome == Outcome(judged=2, left=1)
    assert verdicts == {("q", 5.0): True, ("q", 0.0): True}
