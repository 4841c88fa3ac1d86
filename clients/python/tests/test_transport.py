"""What is sent again, how long it waits, and what is raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from scoreline import Client, ConnectionFailed, NotKept, Retries, ScorelineError, ServiceError
from scoreline.answers import Answer
from scoreline.transport import Call, Transport
from service import Service

Step = httpx.Response | httpx.TransportError


def error(status: int, code: str, **headers: str) -> httpx.Response:
    body: dict[str, Any] = {"error": code, "message": "no", "request_id": "req_1"}
    if "ms" in headers:
        body["retry_after_ms"] = int(headers.pop("ms"))
    return httpx.Response(status, json=body, headers=headers)


class Line:
    """A transport that gets prepared answers, and notes what it sent and how long it waited."""

    def __init__(
        self,
        *answers: Step,
        retries: Retries | None = None,
        on_not_kept: Callable[[NotKept], None] | None = None,
    ) -> None:
        self.answers: Iterator[Step] = iter(answers)
        self.sent: list[httpx.Request] = []
        self.waits: list[float] = []
        http = httpx.Client(base_url="http://service", transport=httpx.MockTransport(self._answer))
        self.transport = Transport(
            http, retries or Retries(), self.waits.append, on_not_kept=on_not_kept
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        answer = next(self.answers)
        if isinstance(answer, httpx.Response):
            return answer
        raise answer

    def send(self, **fields: Any) -> Answer:
        call = Call("POST", "/v1/score/dep_1/batch", "sk_1", content=b"{}", **fields)
        return self.transport.send(call)


OK = httpx.Response(200, json={})


def test_a_full_quota_waits_for_as_long_as_the_service_says() -> None:
    line = Line(*[error(429, "rate_limited", ms="2500")] * 20, OK)
    assert line.send().status == 200
    assert len(line.waits) == 20
    assert all(2.5 <= wait < 3.0 for wait in line.waits)


def test_an_overloaded_service_is_asked_again_after_its_wait() -> None:
    line = Line(error(503, "unavailable", **{"retry-after": "3"}), OK)
    assert line.send().status == 200
    assert 3.0 <= line.waits[0] < 3.5


def test_a_proxy_that_answers_without_a_body_counts_as_overloaded() -> None:
    assert Line(httpx.Response(502), httpx.Response(504), OK).send().status == 200


def test_a_broken_connection_is_tried_again_with_the_same_key_and_bytes() -> None:
    line = Line(httpx.ReadError("cut"), httpx.ConnectTimeout("slow"), OK)
    line.send(idempotency_key="k-1")
    keys = {request.headers["idempotency-key"] for request in line.sent}
    assert keys == {"k-1"}
    assert {request.content for request in line.sent} == {b"{}"}
    assert line.waits[0] < line.waits[1] * 2


def test_a_request_that_is_under_way_is_awaited() -> None:
    line = Line(error(409, "idempotency_in_progress", **{"retry-after": "1"}), OK)
    assert line.send().status == 200
    assert line.waits[0] >= 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (404, "deployment_not_found"),
        (409, "idempotency_answer_lost"),
        (500, "internal_error"),
    ],
)
def test_no_other_refusal_is_sent_again(status: int, code: str) -> None:
    line = Line(error(status, code))
    with pytest.raises(ServiceError) as raised:
        line.send()
    found = (raised.value.code, raised.value.status, raised.value.request_id, raised.value.message)
    assert found == (code, status, "req_1", "no")
    assert len(line.sent) == 1


def test_a_call_that_may_not_be_repeated_is_sent_once() -> None:
    line = Line(httpx.ReadError("cut"))
    with pytest.raises(ConnectionFailed) as raised:
        line.send(is_repeatable=False)
    assert raised.value.code == "connection_failed"
    assert len(line.sent) == 1


def test_tries_and_waits_have_a_bound() -> None:
    line = Line(*[httpx.ReadError("cut")] * 9, retries=Retries(attempts=3))
    with pytest.raises(ConnectionFailed):
        line.send()
    assert len(line.sent) == 3
    slow = Line(
        *[error(429, "rate_limited", ms="40000")] * 9, retries=Retries(wait_seconds_max=100)
    )
    with pytest.raises(ServiceError, match="rate_limited"):
        slow.send()
    assert len(slow.sent) == 3


def test_an_answer_that_is_not_kept_is_told() -> None:
    not_kept = {"idempotency-kept": "false"}
    told: list[NotKept] = []
    line = Line(
        error(503, "unavailable", **not_kept),
        httpx.Response(200, json={}, headers=not_kept),
        OK,
        httpx.Response(200, json={}, headers=not_kept),
        on_not_kept=told.append,
    )
    assert [line.send(idempotency_key=key).status for key in ("one", "two", None)] == [200] * 3
    assert told == [NotKept("POST", "/v1/score/dep_1/batch", "one")]


def test_the_quota_of_the_service_itself_says_how_long_to_wait(
    service: Service, credentials: dict[str, str]
) -> None:
    waits: list[float] = []

    class EnoughError(Exception):
        pass

    def stop(seconds: float) -> None:
        waits.append(seconds)
        raise EnoughError

    key = service.key("read", rate_limit_per_minute=2)
    with Client(service.url, key) as client:
        transport: Any = client._transport
        transport._sleep = stop
        ask: Callable[[], Any] = lambda: client.get("/v1/outcome-definitions")  # noqa: E731
        ask()
        ask()
        with pytest.raises(EnoughError):
            ask()
    assert 50 < waits[0] < 70


def test_errors_carry_what_the_service_says(client: Client) -> None:
    with pytest.raises(ServiceError) as raised:
        client.score([{"age": 1}], "dep_of_nobody")
    error = raised.value
    assert (error.code, error.status) == ("deployment_not_found", 404)
    assert error.request_id is not None
    assert error.request_id.startswith("req_")


def test_a_service_that_is_not_there_says_so() -> None:
    with (
        Client("http://127.0.0.1:9", "sa_1", retries=Retries(attempts=1)) as client,
        pytest.raises(ConnectionFailed) as raised,
    ):
        client.get("/v1/models")
    assert raised.value.status is None


@pytest.mark.parametrize("token", ["sa_se\ncret", "sa_secr\u00e9t", "sa_\x00secret"])
def test_a_token_that_can_not_be_sent_is_refused_without_quoting_it(token: str) -> None:
    with pytest.raises(ScorelineError) as refused:
        Client("http://service", token)
    assert "secr" not in str(refused.value)


def test_the_line_break_of_a_file_is_no_part_of_a_token() -> None:
    assert Client("http://service", "sa_secret\n")._token == "sa_secret"
    assert Client("http://service", "sk_secret\n")._key == "sk_secret"


def test_what_can_not_be_sent_is_not_quoted() -> None:
    line = Line(*[httpx.LocalProtocolError("Illegal header value b'Bearer sa_secret'")] * 9)
    call = Call("GET", "/v1/models", "sa_secret")
    with pytest.raises(ConnectionFailed) as failed:
        line.transport.send(call)
    assert "secret" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert "secret" not in repr(call)
