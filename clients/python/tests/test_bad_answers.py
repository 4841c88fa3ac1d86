"""Each applicant gets their own score, or an error that says where to go on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pandas as pd
import pytest

from bad_server import Answer, Reply, answered, bad_server, sound, zipped
from scoreline import Client, ConnectionFailed, Retries, ScorelineError, ServiceError

KEY = "sk_a_secret_that_nobody_may_see"
FRAME = pd.DataFrame({"id": [f"A-{at}" for at in range(6)], "age": range(6)})


def client_of(url: str, waits: list[float] | None = None, **options: Any) -> Client:
    client = Client(url, key=KEY, retries=Retries(attempts=3), **options)
    client._transport._sleep = lambda seconds: None if waits is None else waits.append(seconds)
    return client


def failed(answer: Answer, score: Callable[[Client], Any], **options: Any) -> ScorelineError:
    with (
        bad_server(answer) as (url, _),
        client_of(url, **options) as client,
        pytest.raises(ScorelineError) as raised,
    ):
        score(client)
    return raised.value


def changed(change: Callable[[dict[str, Any]], Any]) -> Answer:
    """Answers the first batch as the service does, and changes the next answer."""

    def answer(request: Any, number: int) -> Reply:
        body = sound(request, number)
        return answered(body if number == 0 else change(body))

    return answer


def with_result(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: {**body, "results": [{**one, **fields} for one in body["results"]]}


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda body: {key: value for key, value in body.items() if key != name}


def results(change: Callable[[list[Any]], list[Any]]) -> Callable[[dict[str, Any]], Any]:
    return lambda body: {**body, "results": change(body["results"])}


NAN = b'{"request_id":"r","model_version":"1","results":[{"id":"A-2","score":NaN}]}'
FOREIGN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "half of the JSON": lambda body: json.dumps(body).encode()[:-20],
    "nothing": lambda _: b"",
    "a list": lambda body: body["results"],
    "null": lambda _: None,
    "deep nesting": lambda _: b"[" * 100_000,
    "bytes that are no text": lambda _: b'{"results": "\xff"}',
    "no request id": without("request_id"),
    "no results": without("results"),
    "results that are no list": lambda body: {**body, "results": {}},
    "results that are no objects": results(lambda _: [1, 2]),
    "a score that is a text": with_result(score="489.5"),
    "a score that is null": with_result(score=None),
    "a score that is true": with_result(score=True),
    "a score that is NaN": lambda _: NAN,
    "a score that is infinite": lambda body: (
        json.dumps(body).replace('"score": ', '"score": 1e999,"x":').encode()
    ),
    "a probability that is a text": with_result(pd="0.5"),
    "points that are texts": with_result(contributions={"age": "1"}),
    "warnings that are a text": with_result(warnings="none"),
    "a grade that is a number": with_result(risk_grade=1),
    "another order": results(lambda found: found[::-1]),
    "one twice": results(lambda found: [found[0], found[0]]),
    "one less": results(lambda found: found[:-1]),
    "one more": results(lambda found: [*found, found[0]]),
    "other applicants": with_result(id="B-1"),
    "nobody's": with_result(id=None),
    "that of another batch": lambda body: {**body, "request_id": "req_0"},
}


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("form", ["frame", "mappings"])
def test_what_is_no_answer_for_these_applicants_is_no_score(what: str, form: str) -> None:
    data: Any = FRAME if form == "frame" else FRAME.to_dict("records")
    error = failed(changed(FOREIGN[what]), lambda one: one.score(data, "dep_1", batch_rows=2))
    assert isinstance(error, ServiceError)
    assert error.code == "foreign_answer"
    # Who was scored before, and how to go on.
    assert len(error.scored) == 2
    assert error.idempotency_key is not None


PAGES = {
    "a page": Reply(b"<html>sign in</html>", kind="text/html"),
    "no type": Reply(b'{"score": 1}', kind="text/plain"),
    "204": Reply(status=204),
    "a redirect": Reply(status=302, headers={"location": "http://127.0.0.1:9/"}),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_proxy_is_no_score(page: str) -> None:
    for score in (
        lambda one: one.score(FRAME, "dep_1"),
        lambda one: one.score({"age": 1}, "dep_1"),
        lambda one: one.outcomes([{"reference": "A-1", "outcome": "good"}]),
    ):
        error = failed(lambda *_: PAGES[page], score)
        assert error.code == ("http_302" if page == "a redirect" else "foreign_answer")


@pytest.mark.parametrize(
    "what", ["a score that is a text", "a score that is NaN", "null", "a list"]
)
def test_one_applicant_gets_no_score_of_another_shape(what: str) -> None:
    fields: dict[str, Any] = {
        "a score that is a text": {"score": "1"},
        "a score that is NaN": {"score": float("nan")},
    }

    def answer(request: Any, number: int) -> Reply:
        if what in fields:
            return answered({**sound(request, number), **fields[what]})
        return answered(None if what == "null" else [])

    error = failed(answer, lambda one: one.score({"age": 1}, "dep_1"))
    assert error.code == "foreign_answer"
    assert error.idempotency_key is not None


def test_outcomes_in_another_order_are_not_taken() -> None:
    def answer(_: Any, __: int) -> Reply:
        return answered(
            {"results": [{"index": 1, "status": "accepted"}, {"index": 0, "status": "x"}]}
        )

    error = failed(answer, lambda one: one.outcomes([{"reference": "A"}, {"reference": "B"}]))
    assert error.code == "foreign_answer"


def test_the_key_of_a_foreign_answer_goes_on_without_scoring_twice() -> None:
    is_bad = True

    def answer(request: Any, number: int) -> Reply:
        body = sound(request, number)
        return answered(body if number == 0 or not is_bad else {"results": []})

    with bad_server(answer) as (url, requests), client_of(url) as client:
        with pytest.raises(ServiceError) as raised:
            client.score(FRAME, "dep_1", batch_rows=3)
        is_bad = False
        key = raised.value.idempotency_key
        scored = client.score(FRAME, "dep_1", batch_rows=3, idempotency_key=key)
    assert len(scored) == 6
    keys = [request["headers"]["idempotency-key"] for request in requests]
    assert keys == [keys[0], keys[1], keys[0], keys[1]]


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(timezone.utc) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("3", 3.0, 4.0),
        (lambda: in_seconds(30), 20.0, 34.0),
    ],
)
def test_a_wait_is_kept_that_is_a_number_or_a_date(header: Any, least: float, most: float) -> None:
    waits: list[float] = []

    def answer(request: Any, number: int) -> Reply:
        if number >= 5:
            return answered(sound(request, number))
        after = header if isinstance(header, str) else header()
        return Reply(b"<html>", status=429, kind="text/html", headers={"retry-after": after})

    with bad_server(answer) as (url, _), client_of(url, waits) as client:
        assert client.score({"age": 1}, "dep_1")["score"] > 0
    # Who is told how long to wait is not counted as a failure.
    assert len(waits) == 5
    assert all(least <= wait <= most for wait in waits)


@pytest.mark.parametrize("status", [429, 409, 503])
@pytest.mark.parametrize(
    "after", [None, "", "soon", "0", "-5", "nan", "inf", "1.5 minutes", lambda: in_seconds(-60)]
)
def test_a_refusal_that_does_not_say_how_long_is_backed_off_from_and_counted(
    status: int, after: Any
) -> None:
    waits: list[float] = []
    code = "idempotency_in_progress" if status == 409 else "busy"

    def answer(_: Any, __: int) -> Reply:
        said = after() if callable(after) else after
        headers = {} if said is None else {"retry-after": said}
        return answered({"error": code, "message": "no"}, status=status, headers=headers)

    with (
        bad_server(answer) as (url, requests),
        client_of(url, waits) as client,
        pytest.raises(ServiceError) as raised,
    ):
        client.score({"age": 1}, "dep_1")
    assert raised.value.code == code
    assert len(requests) == 3
    assert len(waits) == 2
    assert waits[0] >= 0.1
    assert waits[1] >= 0.2


@pytest.mark.parametrize("wait", [-1, 0, True, "5", None, [], 1e999])
def test_a_wait_in_milliseconds_that_is_none_is_not_kept(wait: Any) -> None:
    waits: list[float] = []
    body = {"error": "rate_limited", "message": "no", "retry_after_ms": wait}
    with (
        bad_server(lambda *_: answered(body, status=429)) as (url, requests),
        client_of(url, waits) as client,
        pytest.raises(ServiceError),
    ):
        client.score({"age": 1}, "dep_1")
    assert len(requests) == 3


def test_an_answer_has_a_bound_in_memory() -> None:
    big = b'{"results": "' + b"x" * 2_000_000 + b'"}'
    for reply in (Reply(big), zipped(big), Reply(big, status=500)):
        error = failed(
            lambda *_, reply=reply: reply,
            lambda one: one.score(FRAME, "dep_1"),
            answer_bytes_max=1_000_000,
        )
        assert error.code == "foreign_answer"
        assert "longer than 1000000 bytes" in error.message
        assert error.idempotency_key is not None


def test_an_answer_that_is_no_gzip_is_no_answer() -> None:
    reply = Reply(b"no gzip", headers={"content-encoding": "gzip"})
    error = failed(lambda *_: reply, lambda one: one.score(FRAME, "dep_1"))
    assert isinstance(error, ConnectionFailed)


def test_an_answer_that_drips_ends_after_its_time() -> None:
    def answer(request: Any, number: int) -> Reply:
        return answered(sound(request, number), drip=0.05)

    began = time.monotonic()
    error = failed(answer, lambda one: one.score(FRAME, "dep_1"), timeout_seconds=0.3)
    assert isinstance(error, ConnectionFailed)
    assert "not complete after 0.3 s" in error.message
    # Three attempts; each whole answer would take longer than all of them.
    assert time.monotonic() - began < 10


ECHOES = {
    "in the message": answered({"error": "x", "message": f"key {KEY} is wrong"}, status=401),
    "in the code": answered({"error": KEY, "message": "no"}, status=401),
    "in details": answered(
        {"error": "x", "message": "no", "details": [{"path": KEY, "message": KEY}]}, status=400
    ),
    "in the request id": answered(
        {"error": "x", "message": "no", "request_id": f"Bearer {KEY}"}, status=400
    ),
    "in the header": Reply(b"{}", status=400, headers={"x-request-id": KEY}),
    "in a page": Reply(KEY.encode(), kind=f"text/html; {KEY}"),
    "as a text": answered({"error": "x", "message": "no", "details": KEY}, status=400),
    "as details of another form": answered(
        {"error": "x", "message": "no", "details": [KEY, 1, None]}, status=400
    ),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_is_echoed_is_not_shown(echo: str) -> None:
    error = failed(lambda *_: ECHOES[echo], lambda one: one.score(FRAME, "dep_1"))
    shown = [str(error), repr(error), error.message, error.code, repr(vars(error))]
    cause = error.__cause__
    while cause is not None:
        shown.append(repr(cause))
        cause = cause.__cause__
    assert KEY not in " ".join(shown)
