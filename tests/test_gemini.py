"""What Gemini is sent and how its own errors are read, with the real SDK. test_hosted.py has the faults."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from sentrysearch.embedders.gemini import GeminiEmbedder
from sentrysearch.errors import EmbedderFailed
from support.clock import FakeClock
from support.loopback import KEY, Drop, Reply, Vector, content_vector, gemini_error, inline_video, serving
from support.sent_clip import film, look_at, window


@pytest.fixture
def server(monkeypatch):
    with serving(monkeypatch) as loopback:
        yield loopback


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def embedder(server, clock):
    made = GeminiEmbedder("gemini", clock=clock)
    made.load()
    yield made
    made.close()


@pytest.fixture(scope="module")
def footage(tmp_path_factory):
    return film(tmp_path_factory.mktemp("film") / "drive.mp4", 30)


def test_a_window_is_sent_as_a_small_silent_mp4(embedder, server, footage):
    vectors = embedder.embed_windows([window(footage, 12.0, 22.0)])
    (request,) = server.embeddings()
    (item,) = request.json["requests"]
    (part,) = item["content"]["parts"]
    assert item["model"] == "models/gemini-embedding-2"
    assert item["outputDimensionality"] == 3072
    assert "taskType" not in item
    clip = inline_video(part)
    expected = np.array(content_vector(clip, 3072))
    np.testing.assert_allclose(vectors, [expected / np.linalg.norm(expected)], atol=1e-6)

    arrived = look_at(clip)
    assert "mp4" in arrived.container
    assert (arrived.codec, arrived.tracks) == ("h264", ["video"])
    assert arrived.seconds == pytest.approx(10, abs=0.51)
    assert arrived.seconds <= 120
    assert max(arrived.width, arrived.height) <= 640
    assert len(arrived.times) == 20
    assert min(arrived.film_times) == pytest.approx(12, abs=1)
    assert max(arrived.film_times) == pytest.approx(21.5, abs=1)
    assert len(request.body) < 20_000_000, "the limit of an inline request"


def test_a_query_is_sent_as_a_search_query(embedder, server):
    embedder.embed_query("white {toyota} pickup")
    (request,) = server.embeddings()
    (item,) = request.json["requests"]
    assert item["content"]["parts"] == [{"text": "task: search result | query: white {toyota} pickup"}]
    assert item["outputDimensionality"] == 3072


def test_the_key_goes_in_a_header_and_nowhere_else(embedder, server, caplog):
    caplog.set_level(logging.DEBUG)
    embedder.embed_query("a red car")
    (request,) = server.received
    assert request.headers.pop("x-goog-api-key") == KEY
    assert KEY not in f"{request.path} {request.query} {request.headers} {request.body!r} {caplog.text}"


def test_google_api_key_is_the_other_name(server, monkeypatch, caplog):
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.setenv("GOOGLE_API_KEY", f" {KEY}\n")
    made = GeminiEmbedder("gemini")
    made.load()
    made.embed_query("a red car")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_API_KEY", "another")
    made.load()
    made.embed_query("a red car")
    assert caplog.text == ""
    made.close()


@pytest.mark.parametrize("variable", ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"])
def test_settings_for_another_service_of_the_sdk_change_nothing(server, monkeypatch, variable):
    monkeypatch.setenv(variable, "true")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v9")
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx2")
    made = GeminiEmbedder("gemini")
    made.load()
    made.embed_query("a red car")
    assert server.received[0].path == "/v1beta/models/gemini-embedding-2:batchEmbedContents"
    made.close()


@pytest.mark.parametrize(
    ("delay", "header", "waited"), [("31s", "", 31), ("2.5s", "", 2.5), ("31s", "7", 31), ("3s", "7", 7)]
)
def test_the_delay_in_the_body_is_honoured(embedder, server, clock, delay, header, waited):
    headers = {"Retry-After": header} if header else {}
    server.embed_faults += [Reply(429, gemini_error(429, "quota", retry_delay=delay), headers)]
    embedder.embed_query("a red car")
    assert clock.waits[0] == waited


@pytest.mark.parametrize("delay", ["soon", "s", "-5s", "nans", "infs", "1e999s"])
def test_a_delay_that_makes_no_sense_is_ours(embedder, server, clock, delay):
    server.embed_faults += [Reply(429, gemini_error(429, "quota", retry_delay=delay))]
    embedder.embed_query("a red car")
    assert 1 <= clock.waits[0] <= 2


def test_the_clip_is_encoded_once_however_often_it_is_sent(embedder, server, footage):
    server.embed_faults += [Drop(), Reply(503, {}), Reply(429, {})]
    embedder.embed_windows([window(footage, 0.0, 5.0)])
    bodies = {request.body for request in server.embeddings()}
    assert len(server.embeddings()) == 4
    assert len(bodies) == 1


def test_each_window_gets_its_own_vector(embedder, server, footage):
    batch = [window(footage, start, start + 5.0) for start in (0.0, 5.0, 25.0)]
    together = embedder.embed_windows(batch)
    alone = np.concatenate([embedder.embed_windows([item]) for item in batch])
    np.testing.assert_array_equal(together, alone)
    assert len(np.unique(together, axis=0)) == 3


def test_a_window_whose_vector_cannot_be_used_is_named(embedder, server, footage):
    server.embed_faults += [Vector([0.0] * 3072)]
    with pytest.raises(EmbedderFailed, match=r"^window drive\.mp4@5\.0-10\.0: the vector is zero$"):
        embedder.embed_windows([window(footage, 5.0, 10.0)])


def test_a_window_longer_than_the_limit_is_refused_before_anything_is_sent(embedder, server, footage):
    with pytest.raises(EmbedderFailed) as caught:
        embedder.embed_windows([window(footage, 0.0, 120.1)])
    assert str(caught.value) == (
        "window drive.mp4@0.0-120.1: 120.1 s is longer than the 120 s that Gemini takes; "
        "cut the footage into shorter windows"
    )
    assert server.received == []


def test_the_revision_names_what_the_vectors_depend_on():
    revision = GeminiEmbedder("gemini").revision
    for part in ("gemini-embedding-2", "3072d", "640px", "2fps", "task: search result"):
        assert part in revision


def test_what_the_pass_needs_to_know():
    made = GeminiEmbedder("gemini")
    assert (made.name, made.dimension, made.sampling, made.batch_size) == ("gemini", 3072, None, 1)
    assert made.concurrency > 1
