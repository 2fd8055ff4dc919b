"""How the hosted embedders make requests: paced, retried, and interruptible.

::

    send() ─ raises RequestFailed ─┬─ passing: wait, then send() again, a bounded number of times
                                   └─ not passing, or tries used up: EmbedderFailed, one line without the key

Pacing and waiting are shared by every thread of an embedder, so that requests at once stay within the
service's limit together. ``close`` wakes whoever waits.
"""

from __future__ import annotations

import email.utils
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import tenacity

from sentrysearch.errors import BadInput, Cancelled, EmbedderFailed, SentrySearchError

if TYPE_CHECKING:
    import httpx

Answer = TypeVar("Answer")

_LONGEST_MESSAGE = 300
"""Characters of a message, much of which may be the service's own words, that are shown."""


class Clock:
    """Time as the requests see it; tests hand in one that doesn't sleep."""

    def now(self) -> float:
        """Seconds, never going back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, to read dates that a service sends."""
        return time.time()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Sleeps until ``seconds`` have passed (False) or the event is set (True)."""
        return event.wait(seconds)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is tried. Times in seconds."""

    attempts: int = 6
    """Requests in all, the first included."""
    first_wait: float = 1.0
    """The wait after the first failure; doubled after each further one, up to a second added at random."""
    longest_wait: float = 60.0
    total: float = 300.0
    """No new try starts later than this after the first failure."""
    timeout: float = 120.0
    """To connect, and between any two pieces of an answer."""


class RequestFailed(Exception):
    """One request failed; internal to the hosted embedders.

    Args:
        reason: what to tell the user, without a full stop.
        passing: whether the same request may succeed later.
        wait: seconds after which the service asked to be tried again.
        hint: what the user can do about it.
    """

    def __init__(
        self, reason: str, *, passing: bool, wait: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.wait = wait
        self.hint = hint


def refused(
    status: int,
    message: object,
    headers: Mapping[str, str],
    *,
    wall: float,
    wait: float | None = None,
    hint: str | None = None,
) -> RequestFailed:
    """What an answer with an error status means.

    Timeouts (408), rate limits (429) and server errors (5xx) pass; everything else (a wrong key, a bad
    request) would be refused again.

    Args:
        status: the HTTP status.
        message: the service's own words, if any.
        headers: of the answer, names in any case; ``Retry-After`` is read.
        wall: seconds since 1970, now.
        wait: seconds that the answer's body asks to wait; the longer of it and the header counts.
        hint: what the user can do about it.
    """
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "error"
    words = " ".join(str(message or "").split())
    header = next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
    waits = [seconds for seconds in (wait, retry_after(header, wall)) if seconds is not None]
    return RequestFailed(
        f"{status} {phrase}" + (f": {words}" if words else ""),
        passing=status in (408, 429) or 500 <= status <= 599,
        wait=max(waits, default=None),
        hint=hint,
    )


def retry_after(value: str | None, wall: float) -> float | None:
    """Seconds that a ``Retry-After`` header asks for: a number of them, or a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    seconds = seconds_to_wait(value)
    if seconds is not None:
        return seconds
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(date.timestamp() - wall, 0.0)


def seconds_to_wait(text: str) -> float | None:
    """The text as a number of seconds, 0 where it is negative; None where it is no finite number."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def httpx_failure(error: httpx.TransportError, timeout: float) -> RequestFailed:
    """What a failed connection means. The library's text is not repeated: it may hold a header."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return RequestFailed(f"no answer within {timeout:g} s", passing=True)
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return RequestFailed(f"the request could not be made ({type(error).__name__})", passing=False)
    return RequestFailed(f"the connection failed ({type(error).__name__})", passing=True)


class Pace:
    """Spaces requests evenly: in no 60 seconds do more than ``per_minute`` start.

    Evenly rather than in bursts, because services that state a limit by the minute also count by the second.
    """

    def __init__(self, per_minute: float, clock: Clock, closed: threading.Event) -> None:
        self._gap = 60.0 / per_minute
        self._clock = clock
        self._closed = closed
        self._lock = threading.Lock()
        self._free_at = -math.inf

    def take(self) -> float:
        """Waits for the next free start and returns its time.

        Raises:
            Cancelled: closed while waiting.
        """
        while True:
            with self._lock:
                now = self._clock.now()
                if now >= self._free_at:
                    self._free_at = now + self._gap
                    return now
                wait = self._free_at - now
            if self._clock.wait(self._closed, wait):
                raise Cancelled

    def hold(self, seconds: float) -> None:
        """Lets no request start for so long: the service asked for it, whichever request it told."""
        with self._lock:
            self._free_at = max(self._free_at, self._clock.now() + seconds)


class Service:
    """Makes requests to one service for any number of threads.

    Args:
        title: how the service is called in messages.
        key: never shown, not even where the service repeats it.
        per_minute: requests that may start in a minute.
    """

    def __init__(self, title: str, key: str, per_minute: float, patience: Patience, clock: Clock) -> None:
        self.title = title
        self.patience = patience
        self.clock = clock
        self._key = key
        self._closed = threading.Event()
        self._pace = Pace(per_minute, clock, self._closed)

    def call(self, label: str, send: Callable[[], Answer], *, paced: bool = True) -> Answer:
        """What ``send`` returns, tried until it succeeds or there is no point.

        Args:
            label: the window or query it is for, named in the error.
            send: makes the request once; raises RequestFailed. Any other exception is an answer that could
                not be read, and isn't tried again.
            paced: whether the request counts against the limit.

        Raises:
            EmbedderFailed: names the label, the reason, and how often it was tried.
            Cancelled: closed meanwhile.
        """
        trying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_passing),
            wait=_Wait(self.patience),
            stop=_Stop(self.patience, self.clock),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            answer: Answer = trying(self._once, send, paced)
            return answer
        except RequestFailed as failed:
            failure = failed
        # Raised outside the handler, so that no chained exception carries what a library wrote.
        raise self._error(failure, label, trying.statistics["attempt_number"])

    def close(self) -> None:
        """Ends every wait; requests from now on raise Cancelled."""
        self._closed.set()

    def _once(self, send: Callable[[], Answer], paced: bool) -> Answer:
        if self._closed.is_set():
            raise Cancelled
        if paced:
            self._pace.take()
        try:
            return send()
        except SentrySearchError:
            raise
        except RequestFailed as failed:
            failure = failed
        except Exception as error:
            failure = RequestFailed(f"the answer could not be read ({type(error).__name__})", passing=False)
        if self._closed.is_set():  # its connection was closed under it
            raise Cancelled
        if failure.wait and failure.wait <= self.patience.total:
            self._pace.hold(failure.wait)
        raise failure

    def _sleep(self, seconds: float) -> None:
        if self.clock.wait(self._closed, seconds):
            raise Cancelled

    def _error(self, failure: RequestFailed, label: str, tries: int) -> EmbedderFailed:
        reason = failure.reason if tries == 1 else f"failed {tries} times, the last time: {failure.reason}"
        if failure.passing and failure.wait:
            reason += f" (asks to wait {failure.wait:.0f} s)"
        # The key goes before the text is cut, so that no half of it stays.
        text = f"{self.title}: {reason}".replace(self._key, "[key]")
        if len(text) > _LONGEST_MESSAGE:
            text = text[: _LONGEST_MESSAGE - 1] + "…"
        return EmbedderFailed(text, where=label, hint=failure.hint)


def _passing(error: BaseException) -> bool:
    return isinstance(error, RequestFailed) and error.passing


class _Wait(tenacity.wait.wait_base):
    """As long as the service asked, else exponential backoff with jitter."""

    def __init__(self, patience: Patience) -> None:
        self._backoff = tenacity.wait_exponential_jitter(patience.first_wait, patience.longest_wait)

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        asked = error.wait if isinstance(error, RequestFailed) else None
        return asked or self._backoff(retry_state)


class _Stop(tenacity.stop.stop_base):
    """After so many tries, or when the next one would start too late."""

    def __init__(self, patience: Patience, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._first_failure = math.inf

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        now = self._clock.now()
        self._first_failure = min(self._first_failure, now)
        return (
            retry_state.attempt_number >= self._patience.attempts
            or now + retry_state.upcoming_sleep - self._first_failure > self._patience.total
        )


def requests_per_minute(variable: str, default: float) -> float:
    """The limit from the environment.

    Raises:
        BadInput: the variable holds something else than a positive number.
    """
    given = os.environ.get(variable)
    if not given:
        return default
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not (number > 0 and math.isfinite(number)):
        raise BadInput(f"{given!r} is not a positive number of requests a minute", where=variable)
    return number
