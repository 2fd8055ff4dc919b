"""How fast pictures are sent: reckoned through with a clock of its own."""

import pytest

from accuracy_tui.player import pacing
from accuracy_tui.player.pacing import MOST_UNANSWERED, PATIENCE_SECONDS, SILENT_SECONDS, Pacing
from support.console import Clock

SMALL = 1000


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def paced(clock):
    return Pacing(10.0, clock)


def answer(paced, clock, seconds=0.0):
    """The terminal comes to a picture, and ``seconds`` later to its end."""
    paced.answered()
    clock.now += seconds
    paced.answered()


def test_no_more_pictures_a_second_than_wanted(paced, clock):
    paced.sent(SMALL)
    answer(paced, clock)
    assert paced.wait() == pytest.approx(0.1)
    clock.now += 0.1
    assert paced.wait() <= 0


def test_large_pictures_are_rarer(paced, clock):
    paced.sent(pacing.BYTES_PER_SECOND // 2)
    answer(paced, clock)
    assert paced.wait() == pytest.approx(0.5)


def test_two_on_the_way_then_an_answer_is_waited_for(paced, clock):
    for _ in range(MOST_UNANSWERED):
        paced.sent(SMALL)
        clock.now += 0.1
    assert paced.behind and paced.wait() > 0.5
    paced.answered()
    assert paced.behind  # it has only come to the first of them
    paced.answered()
    assert not paced.behind and paced.wait() <= 0


def test_a_terminal_that_never_answers_gets_one_after_a_while(paced, clock):
    for _ in range(MOST_UNANSWERED):
        paced.sent(SMALL)
    clock.now += SILENT_SECONDS + 0.1
    assert paced.wait() <= 0


def test_one_that_has_answered_is_waited_for_longer(paced, clock):
    paced.sent(SMALL)
    answer(paced, clock)
    for _ in range(MOST_UNANSWERED):
        paced.sent(SMALL)
    clock.now += SILENT_SECONDS + 0.1
    assert paced.wait() > 0
    clock.now += PATIENCE_SECONDS
    assert paced.wait() <= 0  # the answers got lost


def test_an_answer_nobody_asked_for_is_passed_over(paced):
    paced.answered()
    assert paced.unanswered == 0 and paced.wait() <= 0


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_far_away_is_not_slow(paced, clock, seconds):
    """The same time for every answer, however long: two may be on their way."""
    for _ in range(5):
        paced.sent(SMALL)
        clock.now += seconds
        answer(paced, clock, 0.01)
    assert paced.most == MOST_UNANSWERED


def test_a_line_that_has_become_slow_and_quick_again(paced, clock):
    for seconds, most in ((0.3, 1), (0.1, MOST_UNANSWERED)):
        paced.sent(SMALL)
        answer(paced, clock, seconds)
        assert paced.most == most


def on_a_line(rate, size, seconds=120.0, fps=8.0):
    """The most pictures on their way at once on a line of ``rate`` bytes a second, and how many a second."""
    clock = Clock()
    begin = clock.now
    paced = Pacing(fps, clock)
    questions: list[float] = []
    ends: list[float] = []
    free, most, drawn = 0.0, 0, 0
    while clock.now < begin + seconds:
        while questions and questions[0] <= clock.now:
            questions.pop(0)
            paced.answered()
        ends = [end for end in ends if end > clock.now]
        if paced.wait() <= 0:
            paced.sent(size)
            starts = max(free, clock.now)
            free = starts + size / rate
            questions += [starts + 0.05, free + 0.05]
            ends.append(free)
            drawn += 1
            most = max(most, len(ends))
        clock.now += 0.005
    return most, drawn / seconds


@pytest.mark.parametrize(
    ("rate", "pictures", "a_second"),
    [(10_000_000, 1, 7.5), (400_000, 2, 7.0), (100_000, 2, 1.7), (10_000, 2, 0.15)],
)
def test_the_slower_the_line_the_less_is_on_its_way(rate, pictures, a_second):
    most, drawn = on_a_line(rate, 50_000)
    assert most <= pictures and drawn >= a_second


@pytest.mark.parametrize("rate", [100_000, 10_000])
def test_on_a_slow_line_one_picture_at_a_time(rate):
    """After the first ones have told that it is slow."""
    clock = Clock()
    paced = Pacing(8.0, clock)
    for _ in range(10):
        for _ in range(paced.most):
            paced.sent(50_000)
        for _ in range(paced.most):
            clock.now += 0.05
            answer(paced, clock, 50_000 / rate)
    assert paced.most == 1


def test_who_takes_the_terminal_next_waits_for_answers(paced, clock):
    assert paced.farewell() == 0
    paced.sent(SMALL)
    assert paced.farewell() == 0  # never answered: nothing will come
    clock.now += 0.1
    answer(paced, clock)
    paced.sent(SMALL)
    assert 0.1 < paced.farewell() <= 0.5
    clock.now += 1
    assert paced.farewell() == 0


def test_answers_that_will_not_come_are_forgotten(paced):
    for _ in range(MOST_UNANSWERED):
        paced.sent(SMALL)
    paced.forget()
    assert paced.unanswered == 0
