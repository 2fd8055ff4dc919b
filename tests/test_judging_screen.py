"""Judging by keys: what is shown and made ready, when a key counts, and what happens when something fails."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.judging_round import Ask, JudgingRound
from accuracy_tui.player.clip_player import Control
from accuracy_tui.pool import PoolItem
from accuracy_tui.ui import grid_screen
from accuracy_tui.ui.filmstrip import Filmstrip
from accuracy_tui.ui.grid_screen import GridScreen
from accuracy_tui.ui.help_screen import HelpScreen
from accuracy_tui.ui.judging_screen import JudgingScreen
from accuracy_tui.ui.picture_view import PictureView
from accuracy_tui.verdicts import JudgmentsError
from support.console import drive_console
from support.console import players as players  # a fixture
from support.judging import ROAD, VAN, asked, judging, verdicts
from support.judging import clock as clock  # fixtures
from support.judging import session as session
from support.runs import window


def test_a_cell_is_judged_hit_by_hit(session, players, clock, tmp_path):
    async def act(console):
        assert console.shows("white van")
        assert console.shows("hit 1 of 3 for a, by no other model")
        assert console.shows("clip.mp4 0:00.0–0:10.0")
        assert asked(players.last, "show", "ready", "prefetch") == [("show", 0.0), ("prefetch", 10.0)]
        await console.press("y")
        assert verdicts(tmp_path) == {("white van", 0.0): True}
        assert console.shows("✓ yes") and console.shows("hit 2 of 3 for a, also rank 1 for b")
        # the next one was ready
        assert asked(players.last, "show", "ready", "prefetch")[2:] == [("ready", 10.0), ("prefetch", 20.0)]
        clock.now += 1
        await console.press("n")
        clock.now += 1
        await console.press("s")
        assert isinstance(console.app.screen, GridScreen)
        assert verdicts(tmp_path) == {("white van", 0.0): True, ("white van", 10.0): False}
        assert session.grid.cell("b", "white van").glyphs == "○·–––"
        assert console.shows("2 judged") and console.shows("○·–––")
        assert players.last.asked[-1] == ("hide", None)

    drive_console(session, judging(act, clock))


def test_no_key_counts_before_the_clip_was_seen(session, players, clock, tmp_path):
    players.waits = True

    async def act(console):
        await console.press("enter")
        clock.now += 5
        await console.press("y")
        assert verdicts(tmp_path) == {}
        assert console.shows("not counted: the clip isn't shown yet")
        players.last.shown()
        await console.settle()
        clock.now += 0.24
        await console.press("y")
        assert verdicts(tmp_path) == {}
        clock.now += 0.3
        await console.press("y")
        assert verdicts(tmp_path) == {("white van", 0.0): True}

    drive_console(session, act)


def test_a_held_key_judges_one_clip(session, players, clock, tmp_path):
    async def act(console):
        for _ in range(30):  # one second of a key held
            await console.pilot.press("y")
            clock.now += 0.033
        await console.settle()
        assert verdicts(tmp_path) == {("white van", 0.0): True}

    drive_console(session, judging(act, clock))


def test_the_key_that_ends_a_round_says_nothing_about_the_hit_in_the_table(
    session, players, clock, tmp_path, monkeypatch
):
    session.put("white van", window(0), False)
    session.put("white van", window(1), False)
    monkeypatch.setattr(grid_screen, "time", SimpleNamespace(monotonic=clock))

    async def act(console):
        await console.press("y")  # the last one, and the key stays down
        assert isinstance(console.app.screen, GridScreen)
        clock.now += 0.5
        for _ in range(30):
            await console.pilot.press("y")
            clock.now += 0.033
        assert verdicts(tmp_path)[("white van", 0.0)] is False
        clock.now += 0.3
        await console.press("y")  # let go, and pressed again
        assert verdicts(tmp_path)[("white van", 0.0)] is True

    drive_console(session, judging(act, clock))


def test_a_held_undo_takes_one_verdict_back(session, players, clock, tmp_path):
    for number in range(3):
        session.put("white van", window(number), True)

    async def act(console):
        for _ in range(30):
            await console.pilot.press("u")
            clock.now += 0.033
        await console.settle()
        assert verdicts(tmp_path) == {("white van", 0.0): True, ("white van", 10.0): True}
        clock.now += 0.2
        await console.press("u")
        assert verdicts(tmp_path) == {("white van", 0.0): True}

    drive_console(session, judging(act, clock))


def test_undo_comes_back_to_the_clip(session, players, clock, tmp_path):
    async def act(console):
        await console.press("y")
        clock.now += 1
        await console.press("u")
        assert verdicts(tmp_path) == {}
        assert console.shows("undone: white van") and console.shows("hit 1 of 3")
        clock.now += 1
        await console.press("n")
        assert verdicts(tmp_path) == {("white van", 0.0): False}

    drive_console(session, judging(act, clock))


def test_undo_reaches_verdicts_of_other_queries(session, players, clock, tmp_path):
    session.put(ROAD.text, window(3), True)

    async def act(console):
        await console.press("u")
        assert console.shows("road [/]") and console.shows("clip.mp4 0:30.0–0:40.0")
        clock.now += 1
        await console.press("y")
        assert verdicts(tmp_path) == {(ROAD.text, 30.0): True}
        clock.now += 1
        await console.press("u")
        clock.now += 1
        await console.press("u")
        assert console.shows("nothing to undo")

    drive_console(session, judging(act, clock))


@pytest.mark.parametrize(
    ("key", "control"),
    [
        ("space", Control.PAUSE),
        ("right", Control.FORWARD),
        ("left", Control.BACK),
        ("full_stop", Control.STEP),
        ("comma", Control.STEP_BACK),
        ("plus", Control.FASTER),
        ("minus", Control.SLOWER),
        ("0", Control.NORMAL_SPEED),
        ("w", Control.AROUND),
        ("r", Control.RESTART),
    ],
)
def test_keys_of_the_clip(session, players, clock, key, control):
    async def act(console):
        await console.press(key)
        assert asked(players.last, "control") == [("control", control)]

    drive_console(session, judging(act, clock))


def test_looking_at_other_hits(session, players, clock, tmp_path):
    async def act(console):
        await console.press("right_square_bracket")
        assert console.shows("hit 2 of 3")
        await console.press("left_square_bracket")
        assert console.shows("hit 1 of 3")
        await console.press("left_square_bracket")
        assert console.shows("hit 1 of 3") and verdicts(tmp_path) == {}

    drive_console(session, judging(act, clock))


def test_the_loop_is_drawn(session, players, clock):
    async def act(console):
        players.last.at(5.0)
        await console.settle()
        assert console.shows("▶ 0:05.0") and console.shows("━")
        players.last.at(5.0, paused=True, speed=0.5, around=True)
        await console.settle()
        assert console.shows("⏸ 0:05.0  0.5×  ±5 s")

    drive_console(session, judging(act, clock))


def test_stills_beside_the_picture(session, players, clock):
    async def act(console):
        await console.press("f")
        strip = console.app.screen.query_one(Filmstrip)
        assert strip.has_class("open")
        assert console.shows(" 0:01.0")
        await console.press("f")
        assert not strip.has_class("open")

    drive_console(session, judging(act, clock))


def test_pictures_are_drawn_and_counted(session, players, clock):
    async def act(console):
        assert console.app.screen.query_one(PictureView).pictures_drawn >= 1

    drive_console(session, judging(act, clock))


def test_the_next_rounds_draw_too(session, players, clock):
    async def act(console):
        await console.press("q", "down", "enter")
        assert console.shows("road")
        assert console.app.screen.query_one(PictureView).pictures_drawn >= 1
        assert len(players.opened) == 1

    drive_console(session, judging(act, clock))


def test_a_long_file_name_leaves_room_for_times_and_ranks(session, players):
    long = PoolItem(VAN.text, window(0, footage="x" * 250 + ".mp4"))

    async def act(console):
        console.app.open_judging(JudgingRound(lambda _: [Ask(long)]), None)
        await console.settle()
        assert console.shows("x.mp4 0:00.0–0:10.0 · returned by no model any more")

    drive_console(session, act)


def test_a_verdict_that_cannot_be_recorded_is_not_acknowledged(
    session, players, clock, monkeypatch, tmp_path
):

    def full(*_):
        raise JudgmentsError("no space left on device", where=Path("judgments.yaml"))

    async def act(console):
        monkeypatch.setattr(session.judgments, "put", full)
        await console.press("y")
        assert console.shows("not recorded: judgments.yaml: no space left on device")
        assert console.shows("hit 1 of 3") and not console.shows("✓")
        monkeypatch.undo()
        clock.now += 1
        assert session.look("white van", window(0)).value is None

    drive_console(session, judging(act, clock))


def test_blind_shows_neither_models_nor_ranks(session, players, clock, tmp_path):
    async def act(console):
        await console.press("escape", "A")
        clock.now += 1
        text = "\n".join(console.lines())
        assert "hit 1" not in text and "rank" not in text.replace("ranks and", "") and "for a" not in text
        for _ in range(5):
            await console.press("y")
            clock.now += 1
        assert len(verdicts(tmp_path)) == 5

    drive_console(session, judging(act, clock), options=ConsoleOptions(blind=True))


def test_what_decides_most_is_asked_with_its_reason(session, players, clock, tmp_path):
    async def act(console):
        await console.press("J")
        clock.now += 1
        assert console.shows("decides a against b")
        assert console.shows("until the leader is settled") and console.shows("no pair of models is settled")
        for _ in range(4):
            await console.press("n")
            clock.now += 1
        assert console.shows("settled: a = b")
        assert console.shows("a floor query")
        await console.press("y")
        assert isinstance(console.app.screen, GridScreen)
        assert len(verdicts(tmp_path)) == 5
        assert console.shows("5 judged, nothing more is asked")

    drive_console(session, act)


def test_verdicts_from_elsewhere_are_not_asked_again(session, players, clock, tmp_path):
    async def act(console):
        file = tmp_path / "judgments.yaml"
        file.write_text('"white van":\n  "10.0-20.0": true\n  "0.0-10.0": false\n')
        await console.until(lambda: console.shows("judged no"))
        await console.press("s")
        assert console.shows("hit 3 of 3")

    drive_console(session, judging(act, clock))


def test_help_and_leaving(session, players, clock):
    async def act(console):
        await console.press("question_mark")
        assert isinstance(console.app.screen, HelpScreen)
        assert console.shows("5 s around the window too")  # its own keys come first
        await console.press("escape")
        assert isinstance(console.app.screen, JudgingScreen)
        await console.press("q")
        assert isinstance(console.app.screen, GridScreen)
        await console.press("enter")
        assert len(players.opened) == 1  # kept warm

    drive_console(session, judging(act, clock))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_sizes(session, players, clock, size):
    async def act(console):
        assert console.shows("white van") and console.shows("y yes") and console.shows("q back")
        assert console.shows("hit 1 of 3")
        await console.press("q", "J")
        assert console.shows("decides a against b") and console.shows("until the leader is settled")

    drive_console(session, judging(act, clock), size=size)
