"""Requests, and which of them are sent again."""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from .answers import Answer, error_of, foreign
from .errors import ConnectionFailed, refuse

#: Longest answer that is held in memory, unless the caller says otherwise.
ANSWER_BYTES_MAX = 64 * 1024 * 1024
_NOT_MODIFIED = 304
_OVERLOADED = (502, 503, 504)
_NEVER_SENT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
_BACKOFF_SECONDS = 0.2
_BACKOFF_SECONDS_MAX = 20.0


@dataclass(frozen=True)
class Retries:
    """How long a request is tried.

    Attributes:
        attempts: times that one request may fail by itself: a broken connection, 502, 503, 504,
            or a 429 or 409 that does not say how long to wait. Waiting for as long as the
            service says does not count.
        wait_seconds_max: longest sum of the waits of one request.

    """

    attempts: int = 8
    wait_seconds_max: float = 300.0


@dataclass(frozen=True)
class NotKept:
    """A call that was answered, and is made again if it is sent again with its key."""

    method: str
    path: str
    idempotency_key: str


@dataclass(frozen=True)
class Call:
    """One request; the same bytes are sent each time.

    A `file` is the body in place of `content`, and is never in memory as a whole.
    """

    method: str
    path: str
    token: str = field(repr=False)
    content: bytes | None = None
    file: Path | None = None
    content_type: str = "application/json"
    params: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    headers: Mapping[str, str] | None = None
    is_repeatable: bool = True
    timeout_seconds: float | None = None


class Transport:
    """Sends requests, waits as the service asks, and raises its errors."""

    def __init__(
        self,
        http: httpx.Client,
        retries: Retries,
        sleep: Callable[[float], None] = time.sleep,
        *,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        on_not_kept: Callable[[NotKept], None] | None = None,
    ) -> None:
        self._http = http
        self._retries = retries
        self._sleep = sleep
        self._answer_bytes_max = answer_bytes_max
        self._on_not_kept = on_not_kept

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def url(self, path: str) -> str:
        """Write the address of a path."""
        return str(self._http.base_url.join(path))

    def send(self, call: Call) -> Answer:
        """Send a request until it is answered.

        A request is sent again after 429, 502, 503, 504, 409 `idempotency_in_progress` and a
        broken connection; the last only if the call is repeatable.

        Raises:
            ServiceError: the service refused or failed, or the answer is too long.
            ConnectionFailed: there was no answer, or it took too long.

        """
        return self._repeated(call, lambda: self._once(call))

    def download(self, call: Call, out: Path) -> None:
        """Write an answer to a file, which appears when it is complete; raises as `send` does."""
        part = out.with_name(out.name + ".part")
        try:
            self._repeated(call, lambda: self._once(call, part))
            os.replace(part, out)
        finally:
            part.unlink(missing_ok=True)

    def _repeated(self, call: Call, once: Callable[[], Answer]) -> Answer:
        waited = 0.0
        failures = 0
        while True:
            try:
                answer = once()
            except httpx.RequestError as error:
                failures += 1
                problem: Exception = _unanswered(call, error)
                is_final = isinstance(error, _NEVER_SENT) or not call.is_repeatable
                wait = _backoff(failures)
            else:
                if answer.is_success or answer.status == _NOT_MODIFIED:
                    self._tell_if_not_kept(call, answer)
                    return answer
                problem = error_of(answer, call.token)
                asked = _wait_of(answer, problem.code)
                # A 429 that says nothing could be answered for ever.
                if answer.status in _OVERLOADED or asked == 0:
                    failures += 1
                is_final = asked is None or not (call.is_repeatable or answer.status == 429)
                wait = max(asked or 0.0, _backoff(failures)) if failures else (asked or 0.0)
                wait += random.uniform(0.0, 0.1 + 0.1 * wait)  # noqa: S311
            waited += wait
            if (
                is_final
                or failures >= self._retries.attempts
                or waited > self._retries.wait_seconds_max
            ):
                raise problem
            self._sleep(wait)

    def _tell_if_not_kept(self, call: Call, answer: Answer) -> None:
        key = call.idempotency_key
        is_not_kept = answer.headers.get("idempotency-kept") == "false"
        if self._on_not_kept is not None and key is not None and is_not_kept:
            self._on_not_kept(NotKept(call.method, call.path, key))

    def _once(self, call: Call, out: Path | None = None) -> Answer:
        """Send a request; the answer goes to the file `out`, unless it is an error."""
        if self._http.is_closed:
            raise refuse("this client is closed: make another one")
        with ExitStack() as opened:
            file = None if call.file is None else opened.enter_context(call.file.open("rb"))
            request = self._request(call, file)
            response = self._http.send(request, stream=True)
            opened.callback(response.close)
            if out is not None and response.is_success:
                with out.open("wb") as target:
                    for chunk in response.iter_bytes():
                        target.write(chunk)
                return Answer(response.status_code, response.headers, b"")
            return Answer(response.status_code, response.headers, self._content(call, response))

    def _content(self, call: Call, response: httpx.Response) -> bytes:
        """Read an answer that is neither too long nor too slow."""
        seconds = call.timeout_seconds or self._http.timeout.read or math.inf
        end = time.monotonic() + seconds
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > self._answer_bytes_max:
                answer = Answer(response.status_code, response.headers, b"")
                raise foreign(answer, f"is longer than {self._answer_bytes_max} bytes")
            if time.monotonic() > end:
                raise httpx.ReadTimeout(f"the answer was not complete after {seconds:g} s")
        return bytes(content)

    def _request(self, call: Call, file: BinaryIO | None) -> httpx.Request:
        try:
            return self._http.build_request(
                call.method,
                call.path,
                content=call.content if file is None else file,
                **self._options(call),
            )
        except (TypeError, ValueError, AttributeError, LookupError, httpx.InvalidURL) as error:
            # What came from the caller: a path, a parameter, half of a character.
            raise refuse(
                f"{call.method} {call.path!r} can't be sent with these arguments "
                f"({type(error).__name__}): ids and names are texts, and other parameters texts, "
                "numbers or booleans"
            ) from None

    @staticmethod
    def _options(call: Call) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {call.token}", **(call.headers or {})}
        if call.content is not None or call.file is not None:
            headers["content-type"] = call.content_type
        if call.idempotency_key is not None:
            headers["idempotency-key"] = call.idempotency_key
        options: dict[str, Any] = {"headers": headers, "params": call.params}
        if call.timeout_seconds is not None:
            options["timeout"] = httpx.Timeout(call.timeout_seconds, connect=5.0)
        return options


def _unanswered(call: Call, error: httpx.RequestError) -> ConnectionFailed:
    """Make the error of a request without an answer; it never shows the token."""
    # What can't be sent is quoted in the error, and so is the first line of a strange answer.
    is_quoted = isinstance(error, httpx.LocalProtocolError) or call.token in str(error)
    reason = "" if is_quoted else str(error)
    problem = ConnectionFailed(
        f"{call.method} {call.path} had no answer: {reason or type(error).__name__}",
        code="connection_failed",
    )
    problem.__cause__ = None if is_quoted else error
    problem.__suppress_context__ = True
    return problem


def _wait_of(answer: Answer, code: str) -> float | None:
    """Seconds until the request may be sent again; None if that is of no use.

    0 if the answer does not say: a proxy knows no quota.
    """
    if answer.status not in (429, *_OVERLOADED) and code != "idempotency_in_progress":
        return None
    try:
        exact = json.loads(answer.content)["retry_after_ms"]
        if not isinstance(exact, bool) and isinstance(exact, int | float) and 0 < exact < math.inf:
            return exact / 1000
    except (LookupError, TypeError, ValueError, RecursionError):
        pass
    header = answer.headers.get("retry-after", "").strip()
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
        at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
        return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _backoff(failures: int) -> float:
    """Seconds to wait after so many failures: doubled each time, less a random part."""
    longest = min(_BACKOFF_SECONDS * 2.0 ** max(0, failures - 1), _BACKOFF_SECONDS_MAX)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311
