"""Batches are measured before they are sent, and nothing is lost where one is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pandas as pd
import pytest

from scoreline import ConnectionFailed, ScorelineError, ServiceError, ValueRefused
from scoreline.batching import ANSWER_BYTES_MAX, REQUEST_BYTES_MAX, Batches, Record
from scoreline.scoring import Asked
from scripted import HEAD, ScriptedService, error

Row = dict[str, Any]


def rows(count: int, chars: int = 100) -> list[Row]:
    """Applicants whose records have about so many characters."""
    return [{"id": f"A-{at}", "text": f"{at:06}".ljust(chars, "x")} for at in range(count)]


def ids(service: ScriptedService) -> list[str]:
    return [record["id"] for batch in service.batches() for record in batch]


# The first applicants have two features, and the others sixty long ones: 20 MB in all.
def test_sparse_applicants_before_dense_ones_make_no_batch_that_is_too_large() -> None:
    service = ScriptedService()
    dense: list[Row] = [
        {"id": f"D-{at}", **{f"feature_{n}": "x" * 350 for n in range(60)}} for at in range(900)
    ]
    sparse: list[Row] = [{"id": f"S-{at}", "age": at} for at in range(5)]
    scored = service.client().score([*sparse, *dense], "dep_1")
    assert service.refused == 0
    assert max(len(body) for body in service.bodies.values()) <= REQUEST_BYTES_MAX
    assert ids(service) == [one["id"] for one in [*sparse, *dense]]
    assert len(scored) == 905


def test_the_size_of_a_batch_is_exact() -> None:
    sizes: list[int] = []

    def send(content: bytes, _: str, __: Sequence[str | None]) -> tuple[Row, int]:
        sizes.append(len(content))
        return {"results": json.loads(content)["records"]}, 0

    records = [Record(json.dumps({"a": "x" * 39_990}).encode(), 1) for _ in range(450)]
    batches = Batches(send, rows_max=1000, fields={"include_contributions": True})
    assert [start for start, _ in batches.answers(records)] == [0, 199, 398]
    # One record more would be beyond the bound.
    assert REQUEST_BYTES_MAX - 40_001 < sizes[0] <= REQUEST_BYTES_MAX


@pytest.mark.parametrize("as_frame", [True, False])
def test_the_half_of_a_refused_batch_that_succeeded_is_kept(as_frame: bool) -> None:
    def fail(names: list[str]) -> httpx.Response | None:
        return error(500, "internal_error") if "A-6" in names else None

    service = ScriptedService(bytes_max=1000, fail=fail)
    data: Any = rows(8, 150)
    with pytest.raises(ServiceError) as raised:
        service.client().score(pd.DataFrame(data) if as_frame else data, "dep_1")
    assert raised.value.code == "internal_error"
    assert service.refused == 1
    assert ids(service) == ["A-0", "A-1", "A-2", "A-3"]
    kept = raised.value.scored
    assert len(kept) == 4
    if as_frame:
        assert kept.index.tolist() == [0, 1, 2, 3]


def test_the_same_call_with_the_same_key_scores_nobody_twice() -> None:
    is_broken = True

    def fail(names: list[str]) -> httpx.Response | None:
        return error(500, "internal_error") if is_broken and "A-6" in names else None

    service = ScriptedService(bytes_max=1000, fail=fail)
    asked: Row = {"idempotency_key": "portfolio of 2026-11"}
    with pytest.raises(ServiceError) as raised:
        service.client().score(rows(20, 150), "dep_1", **asked)
    assert raised.value.idempotency_key == "portfolio of 2026-11"
    before = dict(service.bodies)
    is_broken = False
    scored = service.client().score(rows(20, 150), "dep_1", **asked)
    # Halves that were answered have the same key and bytes, which the service answers again.
    assert before.items() <= service.bodies.items()
    assert ids(service) == [f"A-{at}" for at in range(20)]
    assert len(scored) == 20
    assert set(service.headers("x-routing-key")) == {"portfolio of 2026-11"}


# Halves, and a batch that was made smaller by a refusal, keep their keys.
@pytest.mark.parametrize("as_frame", [True, False])
@pytest.mark.parametrize("ends", [["A-2"], ["A-6"], ["A-6", "A-17", "A-17"]])
def test_resume_sends_only_what_was_not_answered(ends: list[str], as_frame: bool) -> None:
    left = [*ends]

    def fail(names: list[str]) -> None:
        if left and left[0] in names:
            left.pop(0)
            raise KeyboardInterrupt

    service = ScriptedService(bytes_max=1000, fail=fail)
    data: Any = rows(20, 150)
    client = service.client()
    with pytest.raises(KeyboardInterrupt):
        client.score(pd.DataFrame(data) if as_frame else data, "dep_1")
    for _ in ends[1:]:
        with pytest.raises(KeyboardInterrupt):
            client.resume()
    assert len(client.resume()) == 20
    assert ids(service) == [f"A-{at}" for at in range(20)]
    sent = [(one.headers["idempotency-key"], one.content) for one in service.requests]
    assert len(sent) == len(set(sent)) + len(ends)
    assert len({key for key, _ in sent}) == len(set(sent))


# With the key of one chunk, all chunks would be scored and logged again.
def test_the_key_of_an_unfinished_chunk_repeats_all_chunks() -> None:
    is_broken = True

    def fail(names: list[str]) -> None:
        if is_broken and "A-12" in names:
            raise KeyboardInterrupt

    service = ScriptedService(fail=fail)
    client = service.client()
    frame = pd.DataFrame(rows(20))
    chunks = [frame.iloc[at : at + 5] for at in range(0, 20, 5)]
    with pytest.raises(KeyboardInterrupt):
        list(client.score_chunks(chunks, "dep_1"))
    assert client.unfinished is not None
    key = client.unfinished.key
    is_broken = False
    scored = pd.concat(service.client().score_chunks(chunks, "dep_1", idempotency_key=key))
    assert len(scored) == 20
    assert ids(service) == [f"A-{at}" for at in range(20)]
    # The chunk that ended early, alone.
    assert len(client.resume(key)) == 5


def test_a_call_that_ended_before_it_sent_anything_leaves_no_other_to_resume() -> None:
    def fail(_: list[str]) -> None:
        raise KeyboardInterrupt

    client = ScriptedService(fail=fail).client()
    with pytest.raises(KeyboardInterrupt):
        client.score(pd.DataFrame(rows(20)), "dep_1")
    with pytest.raises(ValueRefused, match="reasons"):
        client.score(pd.DataFrame(rows(3)), "dep_1", reasons=1.5)  # type: ignore[call-overload]
    with pytest.raises(ValueRefused, match="no such call"):
        client.resume()


def test_an_iterator_can_not_be_resumed() -> None:
    service = ScriptedService(fail=lambda _: error(500, "internal_error"))
    client = service.client()
    with pytest.raises(ServiceError):
        client.score(iter(rows(3)), "dep_1")
    with pytest.raises(ValueRefused, match=r"iterator.*idempotency_key"):
        client.resume()


# The caller gave no key: that of the error repeats the call, also when the last answer was lost.
def test_the_key_of_an_error_repeats_the_call() -> None:
    is_broken = True

    def fail(names: list[str]) -> httpx.TransportError | None:
        return httpx.ReadError("cut") if is_broken and "A-25" in names else None

    service = ScriptedService(fail=fail)
    with pytest.raises(ConnectionFailed) as raised:
        service.client().score(pd.DataFrame(rows(30)), "dep_1", batch_rows=10)
    in_doubt = service.requests[-1]
    assert raised.value.idempotency_key is not None
    is_broken = False
    key = raised.value.idempotency_key
    service.client().score(pd.DataFrame(rows(30)), "dep_1", batch_rows=10, idempotency_key=key)
    assert ids(service) == [f"A-{at}" for at in range(30)]
    assert service.bodies[in_doubt.headers["idempotency-key"]] == in_doubt.content


def test_a_half_that_had_no_answer_is_sent_again_with_its_key() -> None:
    lost: list[str] = []

    def fail(names: list[str]) -> httpx.TransportError | None:
        if "A-6" in names and not lost:
            lost.append("once")
            return httpx.ReadError("cut")
        return None

    service = ScriptedService(bytes_max=1000, fail=fail)
    assert len(service.client().score(rows(8, 150), "dep_1")) == 8
    sent = [r.headers["idempotency-key"] for r in service.requests if b'"A-6"' in r.content]
    # Refused as a whole, lost, answered.
    assert len(sent) == 3
    assert sent[1] == sent[2] != sent[0]


def test_an_applicant_who_is_too_large_alone_is_named_and_the_others_are_kept() -> None:
    service = ScriptedService(bytes_max=1000)
    data = rows(6)
    data[4]["text"] = "x" * 2000
    with pytest.raises(ScorelineError) as raised:
        service.client().score(data, "dep_1")
    assert raised.value.status == 413
    assert len(raised.value.scored) == 4


def test_batches_are_small_enough_for_their_answers_to_be_kept() -> None:
    service = ScriptedService()
    asked: Row = {"points": True, "reasons": 10, "batch_rows": 1000}
    wide = [{f"feature_{n}": n for n in range(100)} for _ in range(1000)]
    service.client().score(wide, "dep_1", **asked)
    each = Asked(points=True, reasons=10).answer_bytes(wide[0])
    assert each > 10_000
    assert max(map(len, service.batches())) == ANSWER_BYTES_MAX // each


def test_answers_that_are_longer_than_expected_make_the_next_batches_smaller() -> None:
    service = ScriptedService()
    service.answer_padding = 5000
    service.client().score(rows(2000), "dep_1", points=False)
    sizes = [len(batch) for batch in service.batches()]
    assert sizes[0] == 1000
    assert 400 <= sizes[1] <= 600


def test_the_number_of_rows_of_a_batch_has_bounds() -> None:
    for wrong in (0, 1001):
        with pytest.raises(ValueRefused, match="1 to 1000"):
            ScriptedService().client().score(rows(1), "dep_1", batch_rows=wrong)


def test_an_answer_for_other_applicants_is_no_score() -> None:
    def fail(_: list[str]) -> httpx.Response:
        return httpx.Response(200, json={"results": [], **HEAD})

    with pytest.raises(ServiceError) as raised:
        ScriptedService(fail=fail).client().score(rows(2), "dep_1")
    assert raised.value.code == "foreign_answer"
