"""Requests, and which of them are sent again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from .errors import CardError, ConnectionFailed, ParityError, ServiceError

_CLASSES: Mapping[str, type[ServiceError]] = {
    "invalid_spec": CardError,
    "parity_failed": ParityError,
}
_OVERLOADED = (502, 503, 504)
_NEVER_SENT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
_BACKOFF_SECONDS = 0.2
_BACKOFF_SECONDS_MAX = 20.0


@dataclass(frozen=True)
class Retries:
    """How long a request is tried.

    Attributes:
        attempts: times that one request may fail by itself: a broken connection, 502, 503 or 504.
            Waiting for the quota (429) does not count.
        wait_seconds_max: longest sum of the waits of one request.

    """

    attempts: int = 8
    wait_seconds_max: float = 300.0


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
    ) -> None:
        self._http = http
        self._retries = retries
        self._sleep = sleep

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(self, call: Call) -> httpx.Response:
        """Send a request until it is answered.

        A request is sent again after 429, 502, 503, 504, 409 `idempotency_in_progress` and a
        broken connection; the last only if the call is repeatable.

        Raises:
            ServiceError: the service refused or failed.
            ConnectionFailed: there was no answer.

        """
        return self._repeated(call, lambda: self._once(call))

    def download(self, call: Call, out: Path) -> None:
        """Write an answer to a file, which appears when it is complete; raises as `send` does."""
        part = out.with_name(out.name + ".part")
        try:
            self._repeated(call, lambda: self._streamed(call, part))
            os.replace(part, out)
        finally:
            part.unlink(missing_ok=True)

    def _repeated(self, call: Call, once: Callable[[], httpx.Response]) -> httpx.Response:
        waited = 0.0
        failures = 0
        while True:
            try:
                response = once()
            except httpx.TransportError as error:
                failures += 1
                # What can't be sent is quoted in the error, and it may be a secret.
                is_unsent = isinstance(error, httpx.LocalProtocolError)
                reason = "" if is_unsent else str(error)
                problem: Exception = ConnectionFailed(
                    f"{call.method} {call.path} had no answer: {reason or type(error).__name__}",
                    code="connection_failed",
                )
                problem.__cause__ = None if is_unsent else error
                problem.__suppress_context__ = True
                is_final = isinstance(error, _NEVER_SENT) or not call.is_repeatable
                wait = _backoff(failures)
            else:
                if response.is_success:
                    return response
                problem = error_of(response)
                if response.status_code in _OVERLOADED:
                    failures += 1
                asked = _wait_of(response, problem.code)
                is_final = asked is None or not (call.is_repeatable or response.status_code == 429)
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

    def _once(self, call: Call) -> httpx.Response:
        with ExitStack() as opened:
            file = None if call.file is None else opened.enter_context(call.file.open("rb"))
            return self._http.request(
                call.method,
                call.path,
                content=call.content if file is None else file,
                **self._options(call),
            )

    def _streamed(self, call: Call, part: Path) -> httpx.Response:
        """Send a request without a body, and write the answer to a file unless it is an error."""
        with self._http.stream(call.method, call.path, **self._options(call)) as response:
            if response.is_success:
                with part.open("wb") as file:
                    for chunk in response.iter_bytes():
                        file.write(chunk)
            else:
                response.read()
            return response

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


def error_of(response: httpx.Response) -> ServiceError:
    """Read the error of an answer, also of one that a proxy made."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("error"), str):
        body = {}
    code = str(body.get("error", f"http_{response.status_code}"))
    message = str(body.get("message", f"the answer has the status {response.status_code}"))
    return _CLASSES.get(code, ServiceError)(
        message,
        code=code,
        status=response.status_code,
        request_id=body.get("request_id") or response.headers.get("x-request-id"),
        details=body.get("details", ()),
    )


def _wait_of(response: httpx.Response, code: str) -> float | None:
    """Seconds until the request may be sent again; None if that is of no use."""
    if response.status_code not in (429, *_OVERLOADED) and code != "idempotency_in_progress":
        return None
    try:
        exact = response.json().get("retry_after_ms")
        if isinstance(exact, int | float):
            return float(exact) / 1000
    except (ValueError, AttributeError):
        pass
    try:
        return max(0.0, float(response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def _backoff(failures: int) -> float:
    """Seconds to wait after so many failures: doubled each time, less a random part."""
    longest = min(_BACKOFF_SECONDS * 2.0 ** max(0, failures - 1), _BACKOFF_SECONDS_MAX)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311
