"""How requests to a service are paced, tried again and ended, and both SDKs under every fault.

No test waits for real time: the clock moves only when somebody waits, and the waits are what is asserted.
"""

from __future__ import annotations

import logging
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import format_datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentrysearch import embedders
from sentrysearch.embedders._clip_embedder import ClipEmbedder
from sentrysearch.embedders._hosted import (
    Pace,
    Patience,
    RequestFailed,
    Service,
    refused,
    retry_after,
)
from sentrysearch.embedders.gemini import GeminiEmbedder
from sentrysearch.embedders.qwen_cloud import QwenCloudEmbedder
from sentrysearch.errors import BadInput, Cancelled, EmbedderFailed, EmbedderUnavailable
from support.clock import FakeClock
from support.loopback import (
    KEY,
    Drop,
    Reply,
    Stall,
    Truncate,
    Vector,
    content_vector,
    serving,
)

EMBEDDERS = {"gemini": GeminiEmbedder, "qwen-cloud": QwenCloudEmbedder}
QUERY_TEXT = {"gemini": "task: search result | query: a red car", "qwen-cloud": "a red car"}


@pytest.fixture
def server(monkeypatch):
    with serving(monkeypatch) as loopback:
        yield loopback


@pytest.fixture(params=sorted(EMBEDDERS))
def name(request):
    return request.param


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def embedder(name, server, clock):
    made = EMBEDDERS[name](name, clock=clock)
    made.load()
    yield made
    made.close()


def failure_of(embedder: ClipEmbedder) -> EmbedderFailed:
    with pytest.raises(EmbedderFailed) as caught:
        embedder.embed_query("a red car")
    return caught.value


# The pace


@given(
    per_minute=st.integers(1, 40),
    pauses=st.lists(st.floats(0, 5), max_size=80),
    holds=st.dictionaries(st.integers(0, 79), st.floats(0, 100), max_size=3),
)
def test_no_minute_has_more_starts_than_the_limit(per_minute, pauses, holds):
    clock = FakeClock()
    pace = Pace(per_minute, clock, threading.Event())
    starts = []
    for index, pause in enumerate(pauses):
        clock.pass_time(pause)
        held_until = clock.now() + holds.get(index, 0)
        pace.hold(holds.get(index, 0))
        starts.append(pace.take())
        assert starts[-1] >= held_until - 1e-6
    for start, one_too_many in zip(starts, starts[per_minute:], strict=False):
        assert one_too_many - start >= 60 - 1e-6


def test_threads_share_the_pace():
    clock = FakeClock()
    pace = Pace(60, clock, threading.Event())
    with ThreadPoolExecutor(8) as pool:
        starts = sorted(pool.map(lambda _: pace.take(), range(40)))
    assert np.diff(starts).min() >= 1 - 1e-9


def test_a_free_pace_does_not_wait():
    clock = FakeClock()
    pace = Pace(1, clock, threading.Event())
    pace.take()
    clock.pass_time(60)
    pace.take()
    assert clock.waits == []


# Retry-After


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), ("0", 0), ("-3", 0), (None, None), ("soon", None), ("nan", None), ("inf", None), ("", None)],
)
def test_retry_after_in_seconds(value, seconds):
    assert retry_after(value, 0.0) == seconds


def test_retry_after_as_a_date():
    now = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC).timestamp()
    assert retry_after("Mon, 04 May 2026 03:02:31 GMT", now) == 30
    assert retry_after("Mon, 04 May 2026 05:02:31 +0200", now) == 30
    assert retry_after("Mon, 04 May 2026 03:00:00 GMT", now) == 0


@given(st.text(max_size=40))
def test_retry_after_is_never_a_crash(value):
    seconds = retry_after(value, 0.0)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_passes(status):
    assert refused(status, "", {}, wall=0).passing


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 413, 422, 600])
def test_what_does_not_pass(status):
    assert not refused(status, "", {}, wall=0).passing


def test_the_longer_of_two_waits_counts():
    assert refused(429, "", {"RETRY-AFTER": "5"}, wall=0, wait=2.5).wait == 5
    assert refused(429, "", {"retry-after": "5"}, wall=0, wait=12.0).wait == 12


# Trying again


def failing(*failures):
    left = list(failures)

    def send():
        if left:
            raise left.pop(0)
        return "answer"

    return send


def busy(wait=None):
    return RequestFailed("busy", passing=True, wait=wait)


def service(clock, **patience) -> Service:
    return Service("A service", KEY, 6000, Patience(**patience), clock)


def test_backoff_doubles_and_has_jitter(clock):
    assert service(clock).call("a", failing(busy(), busy(), busy(), busy()), paced=False) == "answer"
    for wait, least in zip(clock.waits, [1, 2, 4, 8], strict=True):
        assert least <= wait <= least + 1


def test_backoff_has_a_longest_wait(clock):
    service(clock, attempts=9, total=1e9, longest_wait=10).call("a", failing(*[busy()] * 8), paced=False)
    assert max(clock.waits) == 10


def test_what_the_service_asks_is_what_is_waited(clock):
    service(clock).call("a", failing(busy(17.5), busy(0.25)), paced=False)
    assert clock.waits == [17.5, 0.25]


def test_it_gives_up_after_so_many_tries(clock):
    with pytest.raises(EmbedderFailed, match=r"^a: A service: failed 3 times, the last time: busy$"):
        service(clock, attempts=3).call("a", failing(*[busy()] * 9), paced=False)
    assert len(clock.waits) == 2


def test_it_does_not_start_a_wait_that_is_too_long(clock):
    with pytest.raises(EmbedderFailed, match=r"busy \(asks to wait 3600 s\)"):
        service(clock).call("a", failing(busy(3600)), paced=False)
    assert clock.waits == []


def test_a_wait_that_is_too_long_does_not_stop_other_requests(clock):
    made = service(clock)
    with pytest.raises(EmbedderFailed):
        made.call("a", failing(busy(3600)))
    made.call("b", failing())
    assert sum(clock.waits) < 1


def test_no_try_starts_later_than_the_total(clock):
    with pytest.raises(EmbedderFailed, match="failed 4 times"):
        service(clock, attempts=99, total=100).call("a", failing(*[busy(30)] * 99), paced=False)
    assert clock.waits == [30, 30, 30]


def test_what_does_not_pass_is_not_tried_again(clock):
    with pytest.raises(EmbedderFailed, match=r"^a: A service: no such model; do this$"):
        service(clock).call("a", failing(RequestFailed("no such model", passing=False, hint="do this")))
    assert clock.waits == []


def test_one_request_told_to_wait_holds_the_others(clock):
    made = service(clock)
    with pytest.raises(EmbedderFailed):
        made.call("a", failing(RequestFailed("busy", passing=False, wait=40.0)))
    made.call("b", failing())
    assert sum(clock.waits) == pytest.approx(40)


def test_the_key_and_long_words_are_cut(clock):
    words = "x" * 280 + KEY + "y" * 1000
    with pytest.raises(EmbedderFailed) as caught:
        service(clock).call("a", failing(RequestFailed(words, passing=False)))
    assert "key-" not in str(caught.value)
    assert len(str(caught.value)) < 320


def test_closing_wakes_whoever_waits():
    class Waiting(FakeClock):
        def wait(self, event, seconds):
            waiting.set()
            return event.wait(60)

    waiting = threading.Event()
    for send, paced in ((failing(busy()), False), (failing(), True)):
        waiting.clear()
        made = service(Waiting())
        if paced:
            made.call("first", failing())
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(made.call, "a", send, paced=paced)
            assert waiting.wait(30)
            made.close()
            with pytest.raises(Cancelled):
                call.result(30)


# Both SDKs


def test_a_query_is_embedded(embedder, name, clock):
    vector = embedder.embed_query("a red car")
    expected = np.array(content_vector(QUERY_TEXT[name].encode(), embedder.dimension))
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert clock.waits == []


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_status_is_tried_again(embedder, server, clock, status):
    server.embed_faults += [Reply(status, {"error": {"code": status, "message": "busy"}})]
    embedder.embed_query("a red car")
    assert len(server.embeddings()) == 2
    assert 1 <= clock.waits[0] <= 2


def test_retry_after_in_seconds_is_honoured(embedder, server, clock):
    server.embed_faults += [Reply(429, {"message": "slow down"}, {"Retry-After": "23"})]
    embedder.embed_query("a red car")
    assert clock.waits[0] == 23


def test_retry_after_as_a_date_is_honoured(embedder, server, clock):
    date = format_datetime(datetime.fromtimestamp(clock.wall() + 42, UTC), usegmt=True)
    server.embed_faults += [Reply(503, "<html>down</html>", {"Retry-After": date})]
    embedder.embed_query("a red car")
    assert clock.waits[0] == 42


@pytest.mark.parametrize("fault", [Drop(), Truncate()])
def test_a_dropped_connection_is_tried_again_by_us_alone(embedder, server, clock, fault):
    server.embed_faults += [fault, fault]
    embedder.embed_query("a red car")
    assert len(server.embeddings()) == 3, "the SDK must not repeat requests by itself"
    assert len([wait for wait in clock.waits if wait >= 1]) >= 2


def test_a_slow_answer_is_a_timeout(name, server, clock):
    server.embed_faults += [Stall(), Stall()]
    slow = EMBEDDERS[name](name, patience=Patience(attempts=2, timeout=0.2), clock=clock)
    slow.load()
    error = failure_of(slow)
    assert "failed 2 times, the last time: no answer within 0.2 s" in str(error)
    assert str(error).startswith("query 'a red car': ")
    slow.close()


def test_tries_used_up_say_how_many_and_why(embedder, server):
    words = {"message": "over\x1b[31mloaded"}
    server.embed_faults += [Reply(503, {"error": words, **words})] * 9
    error = failure_of(embedder)
    assert "failed 6 times, the last time: 503 Service Unavailable: over\\x1b[31mloaded" in str(error)
    assert len(server.embeddings()) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_cannot_pass_is_not_tried_again(embedder, server, clock, status):
    server.embed_faults += [Reply(status, {"error": {"message": "no"}, "message": "no"})] * 9
    assert f": {status} " in str(failure_of(embedder))
    assert len(server.embeddings()) == 1
    assert clock.waits == []


def test_a_redirect_is_not_followed_with_the_key(embedder, server):
    server.embed_faults += [Reply(307, "", {"Location": f"{server.url}/elsewhere"})]
    assert "307 Temporary Redirect" in str(failure_of(embedder))
    assert len(server.received) == 1


def test_a_wrong_key_is_refused_without_being_shown(name, server, clock, monkeypatch, caplog, capfd):
    wrong = "wrong-key-9f8e7d6c"
    monkeypatch.setenv("GEMINI_API_KEY", wrong)
    monkeypatch.setenv("DASHSCOPE_API_KEY", wrong)
    caplog.set_level(logging.DEBUG)
    made = EMBEDDERS[name](name, clock=clock)
    made.load()
    error = failure_of(made)
    assert str(error).endswith("; check " + ("GEMINI_API_KEY" if name == "gemini" else "DASHSCOPE_API_KEY"))
    assert len(server.embeddings()) == 1
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.__dict__) + repr(made)
    shown += caplog.text + "".join(capfd.readouterr())
    shown += "".join(request.path + repr(request.query) for request in server.received)
    assert wrong not in shown
    assert error.__context__ is None, "a chained exception could hold what a library wrote"
    made.close()


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", " "])
def test_a_key_that_cannot_be_sent_is_said_before_any_request(name, server, monkeypatch, key):
    monkeypatch.setenv("GEMINI_API_KEY", key)
    monkeypatch.setenv("DASHSCOPE_API_KEY", key)
    with pytest.raises(EmbedderUnavailable) as caught:
        EMBEDDERS[name](name).load()
    variable = "GEMINI_API_KEY" if name == "gemini" else "DASHSCOPE_API_KEY"
    assert str(caught.value) == f"{variable}: holds characters that no key has"
    assert server.received == []


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda values: [], "the vector is empty"),
        (lambda values: values[:7], "the vector has 7 numbers, not"),
        (lambda values: [*values, 0.5], "numbers, not"),
        (lambda values: [float("nan"), *values[1:]], "the vector is not finite"),
        (lambda values: [0.0 for _ in values], "the vector is zero"),
    ],
)
def test_a_vector_that_cannot_be_used_is_an_error(embedder, server, clock, spoil, reason):
    server.embed_faults += [Vector(spoil([0.5] * embedder.dimension))]
    error = failure_of(embedder)
    assert str(error).startswith("query 'a red car': ")
    assert reason in str(error)
    assert len(server.embeddings()) == 1


HOSTILE = "\x1b[2Jpwned"
JSON = {"Content-Type": "application/json"}


def both_shapes(embeddings, values):
    """An answer in the shape of either service."""
    output = {"embeddings": embeddings("embedding", values)}
    return {"embeddings": embeddings("values", values), "output": output}


@pytest.mark.parametrize(
    "reply",
    {
        "not text": Reply(200, b"\xff\xfe{not json", JSON),
        "not json": Reply(200, "<html>hello</html>"),
        "a list": Reply(200, "[1, 2]", JSON),
        "empty": Reply(200, {}),
        "no embeddings": Reply(200, {"embeddings": [], "output": {"embeddings": []}}),
        "words for embeddings": Reply(200, {"embeddings": HOSTILE, "output": HOSTILE}),
        "words for numbers": Reply(200, both_shapes(lambda key, values: [{key: values}], [HOSTILE])),
        "two embeddings": Reply(200, both_shapes(lambda key, values: [{key: values}] * 2, [1.0])),
        "an error that is not text": Reply(400, b"\xff\xfe", JSON),
        "an error that is a list": Reply(400, "[[]]", JSON),
        "an error that is a word": Reply(400, '{"error": "no", "message": ["no"]}', JSON),
    }.values(),
)
def test_an_answer_that_makes_no_sense_is_one_line(embedder, server, reply):
    server.embed_faults += [reply]
    error = failure_of(embedder)
    assert str(error).startswith("query 'a red car': ")
    assert "\x1b" not in str(error)
    assert "pwned" not in str(error)
    assert "\n" not in str(error)
    assert len(server.embeddings()) == 1


def test_requests_run_at_once(name, server):
    made = EMBEDDERS[name](name, clock=FakeClock())
    made.load()
    server.gate = threading.Barrier(made.concurrency)  # each request waits until all have come
    with ThreadPoolExecutor(made.concurrency) as pool:
        vectors = list(pool.map(made.embed_query, [f"query {number}" for number in range(made.concurrency)]))
    assert len({vector.tobytes() for vector in vectors}) == made.concurrency
    made.close()


def test_closing_ends_a_wait_for_the_service(embedder, server):
    server.embed_faults += [Reply(503, {})]
    embedder.close()
    with pytest.raises(Cancelled):
        embedder.embed_query("a red car")
    assert server.received == []
    embedder.close()


def test_an_embedder_that_was_not_loaded_says_so(name):
    made = EMBEDDERS[name](name)
    made.close()
    with pytest.raises(EmbedderFailed, match="not loaded"):
        made.embed_query("a red car")


def test_the_rate_comes_from_the_environment(name, server, clock, monkeypatch):
    variable = {"gemini": "SENTRYSEARCH_GEMINI_RPM", "qwen-cloud": "SENTRYSEARCH_QWEN_CLOUD_RPM"}[name]
    monkeypatch.setenv(variable, "4")
    made = EMBEDDERS[name](name, clock=clock)
    made.load()
    for _ in range(3):
        made.embed_query("a red car")
    assert clock.waits == pytest.approx([15, 15])
    made.close()
    for wrong in ("many", "0", "-1", "nan", "inf"):
        monkeypatch.setenv(variable, wrong)
        with pytest.raises(BadInput, match=f"{variable}.*not a positive number"):
            EMBEDDERS[name](name).load()


def test_the_model_is_found_by_name_and_needs_its_key(name, server, monkeypatch):
    assert type(embedders.create(name)) is EMBEDDERS[name]
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("DASHSCOPE_API_KEY")
    with pytest.raises(EmbedderUnavailable, match="no key"):
        embedders.create(name)
    with pytest.raises(EmbedderUnavailable, match="no key"):
        EMBEDDERS[name](name).load()
