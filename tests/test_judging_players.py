"""Players while judging: their keys, the next one where one fails, and judging without any."""

import threading

import pytest

from accuracy_tui.console_options import ConsoleOptions
from accuracy_tui.player import routes
from accuracy_tui.ui.grid_screen import GridScreen
from accuracy_tui.ui.help_screen import HelpScreen
from support.console import FakeWorker, drive_console
from support.console import players as players  # a fixture
from support.judging import clock as clock  # fixtures
from support.judging import judging, verdicts
from support.judging import session as session
from support.runs import window


def test_keys_in_the_players_window_judge_too(session, players, clock, tmp_path):
    async def act(console):
        first = players.last.clip
        players.last.press("y")
        await console.settle()
        assert verdicts(tmp_path) == {("white van", 0.0): True}
        clock.now += 1
        players.last.press("n", first)  # late: that clip is gone
        await console.settle()
        assert verdicts(tmp_path) == {("white van", 0.0): True}
        players.last.press("s")
        await console.settle()
        assert console.shows("hit 3 of 3")
        players.last.press("u")
        await console.settle()
        assert verdicts(tmp_path) == {}
        players.last.press("q")
        await console.settle()
        assert isinstance(console.app.screen, GridScreen)

    drive_console(session, judging(act, clock))


def test_keys_in_the_players_window_while_the_help_is_open_here(session, players, clock, tmp_path):
    async def act(console):
        await console.press("question_mark")
        players.last.press("y")
        await console.settle()
        assert isinstance(console.app.screen, HelpScreen)
        assert verdicts(tmp_path) == {("white van", 0.0): True}
        clock.now += 1
        players.last.press("q")
        await console.settle()
        assert isinstance(console.app.screen, GridScreen)

    drive_console(session, judging(act, clock))


def test_the_last_one_judged_in_the_players_window_while_the_help_is_open(session, players, clock, tmp_path):
    async def act(console):
        await console.press("question_mark")
        for _ in range(3):
            players.last.press("n")
            await console.settle()
            clock.now += 1
        assert isinstance(console.app.screen, GridScreen)
        assert len(verdicts(tmp_path)) == 3

    drive_console(session, judging(act, clock))


def test_a_clip_that_cannot_be_shown_can_be_judged_by_hand(session, players, clock, tmp_path):
    players.waits = True

    async def act(console):
        await console.press("enter")
        players.last.fail("moov atom not found \x1b[31m")
        await console.settle()
        assert console.shows("not played: moov atom not found") and console.shows("--ab-loop-b=10.0")
        clock.now += 1
        await console.press("n")
        assert verdicts(tmp_path) == {("white van", 0.0): False}

    drive_console(session, act)


def test_a_route_that_fails_makes_way_for_the_next(session, players, clock, tmp_path):
    players.routes = ["window", "inline"]
    players.broken["window"] = "no display here"

    async def act(console):
        assert console.shows("window: no display here; install it; inline is used instead")
        assert players.last.route == "inline"
        await console.press("y")
        assert verdicts(tmp_path) == {("white van", 0.0): True}

    drive_console(session, judging(act, clock))


def test_a_route_the_user_chose_is_left_only_by_the_user(session, players, clock):
    players.broken["window"] = "no display here"

    async def act(console):
        assert console.shows("window: no display here; install it; v shows clips by way of inline")
        await console.press("y")
        assert console.shows("✓ yes") and console.shows("hit 2 of 3")
        assert players.opened == []
        await console.press("v")
        assert [player.route for player in players.opened] == ["inline"]
        assert players.last.clip.window == window(1)

    drive_console(session, judging(act, clock), options=ConsoleOptions(player="window"))


def test_the_only_route_left_is_offered_too(session, players, clock):
    players.broken["window"] = "no display here"
    players.routes = ["inline"]

    async def act(console):
        await console.press("v")
        assert [player.route for player in players.opened] == ["inline"]
        await console.press("v")
        assert console.shows("no other way") and not players.last.closed

    drive_console(session, judging(act, clock), options=ConsoleOptions(player="window"))


def test_what_a_player_says_that_was_left_is_passed_over(session, players, clock, tmp_path):
    async def act(console):
        left = players.last
        players.waits = True
        await console.press("v")
        left.lose("it ended")
        left.shown()
        await console.settle()
        assert players.last.route == "browser" and not players.last.closed
        clock.now += 1
        await console.press("y")
        assert verdicts(tmp_path) == {}  # not seen in the browser yet

    drive_console(session, judging(act, clock))


@pytest.mark.parametrize("keys", [("question_mark", "escape"), ("q", "enter")])
def test_a_player_lost_while_another_screen_is_in_front(session, players, clock, keys):
    async def act(console):
        await console.press(keys[0])
        players.last.lose("it ended")
        await console.settle()
        assert console.shows("it ended") or keys[0] != "q"
        await console.press(keys[1])
        assert [player.route for player in players.opened] == ["inline", "browser"]
        assert players.last.clip is not None

    drive_console(session, judging(act, clock))


def test_a_route_that_fails_after_leaving_is_not_tried_again(session, players, clock, monkeypatch):
    gate = threading.Event()
    tried = []
    opens = players.open_player

    def slowly(route, on_event, **options):
        tried.append(route)
        gate.wait(10)
        return opens(route, on_event, **options)

    monkeypatch.setattr(routes, "open_player", slowly)
    players.broken["inline"] = "nothing works"

    async def act(console):
        await console.press("enter", "q")
        gate.set()
        await console.until(lambda: console.shows("browser is used instead"))
        assert players.opened == []  # nothing is to be shown
        await console.press("enter")
        await console.until(lambda: players.opened and players.last.clip is not None)
        assert tried == ["inline", "browser"]

    drive_console(session, act)


def test_a_player_that_is_lost_makes_way_for_the_next(session, players, clock):
    async def act(console):
        players.opened[0].lose("the player ended: out of luck")
        await console.settle()
        assert console.shows("out of luck; do this; browser is used instead")
        assert players.opened[0].closed and players.last.route == "browser"
        assert players.last.clip is not None and players.last.clip.window == window(0)

    drive_console(session, judging(act, clock))


def test_without_any_player_the_command_is_shown(session, players, clock, tmp_path):
    players.routes = ["inline"]
    players.broken["inline"] = "nothing works"

    async def act(console):
        assert console.shows("inline: nothing works; install it; no other way to show clips is left")
        assert console.shows("by hand: mpv") and console.shows("--start=0.0")
        await console.press("v")
        assert console.shows("no other way")
        await console.press("y")
        assert verdicts(tmp_path) == {("white van", 0.0): True}
        assert console.shows("✓ yes") and console.shows("--start=10.0")

    drive_console(session, judging(act, clock))


def test_another_route_by_key(session, players, clock):
    async def act(console):
        players.last.at(5.0)
        await console.settle()
        assert console.shows("▶ 0:05.0")
        await console.press("v")
        assert [player.route for player in players.opened] == ["inline", "browser"]
        assert players.opened[0].closed
        assert not console.shows("▶")  # where it was, in another player
        assert players.last.clip.window == window(0)
        await console.press("f")
        assert console.shows("stills are shown beside clips drawn in the terminal")

    drive_console(session, judging(act, clock))


def test_how_to_reach_the_page_is_shown_in_full_where_it_is_long(session, players, clock, monkeypatch):
    players.routes = ["browser"]
    players.waits = True
    opens = players.open_player

    def with_address(route, on_event, **options):
        player = opens(route, on_event, **options)
        player.line = (
            f"browser: ssh -L 1234:127.0.0.1:1234 me@host · then open http://127.0.0.1:1234/{'t' * 43}/"
        )
        return player

    monkeypatch.setattr(routes, "open_player", with_address)

    async def act(console):
        await console.press("enter")
        assert console.shows("t" * 43 + "/") and console.shows("ssh -L 1234:127.0.0.1:1234 me@host")

    drive_console(session, act, size=(80, 24))


def test_footage_that_is_not_there_yet_arrives(session, players, clock, tmp_path):
    worker = FakeWorker(reads=False)

    async def act(console):
        assert console.shows("not played: the footage is being read") and players.opened == []
        await console.press("v")  # another way doesn't help, and hinders nothing
        clock.now += 1
        await console.press("y")
        assert verdicts(tmp_path) == {("white van", 0.0): True}
        worker.reads = True
        worker.read_footage()
        await console.settle()
        assert players.last.clip.window == window(1)
        assert not console.shows("not played:")

    drive_console(session, judging(act, clock), worker=worker)


def test_footage_replaced_meanwhile_is_not_played(session, players, clock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"as it was read")

    async def act(console):
        assert players.last.clip is not None
        clip.write_bytes(b"another")
        await console.press("]", "]")
        assert console.shows("not played: clip.mp4 is another file than the one that was read")
        assert not console.shows("mpv --start") and players.last.asked[-1] == ("hide", None)

    drive_console(session, judging(act, clock))
