"""Applicants as batches that the service takes, each of which is logged once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ScorelineError, ServiceError, refuse
from .values import encode

#: Most records of a batch that the service takes.
BATCH_ROWS_MAX = 1000
#: The service takes 16 MiB unless its operator says otherwise; this leaves room for a lower bound.
REQUEST_BYTES_MAX = 8_000_000
#: Longest answer that the service keeps for an `Idempotency-Key` is 4 MiB; this leaves room.
ANSWER_BYTES_MAX = 3_000_000
_KEY_CHARS_MAX = 200

#: Sends one body with an idempotency key and returns the answer, and how many bytes it had.
Send = Callable[[bytes, str], tuple[Mapping[str, Any], int]]


@dataclass(frozen=True)
class Record:
    """An applicant as JSON, and how many bytes of the answer are expected of it."""

    content: bytes
    answer_bytes: int


class Batches:
    """Sends applicants in their order, in batches of a size that is known before they are sent.

    A batch that the service calls too large (413) was not scored: it is sent in halves, and later
    batches are no larger. Where the operator or a proxy has a bound below the usual one, nothing is
    lost or logged twice.

    Args:
        send: sends one batch.
        rows_max: most applicants of a batch.
        fields: of each body, beside its records.
        key: begins the idempotency key of each batch, which goes on with the position and number of
            its applicants. The same applicants get the same key when they are sent again.

    """

    def __init__(
        self,
        send: Send,
        *,
        rows_max: int,
        fields: Mapping[str, Any],
        key: str | None = None,
    ) -> None:
        if not 1 <= rows_max <= BATCH_ROWS_MAX:
            raise refuse(f"batch_rows is 1 to {BATCH_ROWS_MAX}")
        self._send = send
        self._rows_max = rows_max
        self._bytes_max = REQUEST_BYTES_MAX
        written = encode(fields)[1:-1]
        self._end = b"]" + (b"," + written if written else b"") + b"}"
        self._key = idempotency_key(key)
        #: How much longer answers were than expected; never below 1.
        self._answer_scale = 1.0

    def answers(self, records: Iterable[Record]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Score records.

        Yields:
            The position of the first record of a batch, and its answer.

        Raises:
            ScorelineError: its details count records from the first one of all.

        """
        waiting = _Waiting(records)
        start = 0
        while part := self._next_part(waiting):
            parts = [part]
            while parts:
                part = parts.pop()
                try:
                    answer = self._answer(start, part)
                except ScorelineError as error:
                    if error.status != 413 or len(part) == 1:
                        _shift(error, start)
                        raise
                    half = self._halve(part)
                    parts += [part[half:], part[:half]]
                    continue
                yield start, answer
                start += len(part)

    def _next_part(self, waiting: _Waiting) -> list[Record]:
        part: list[Record] = []
        request_bytes = len(_START) + len(self._end)
        answer_bytes = 0.0
        while len(part) < self._rows_max:
            record = waiting.take()
            if record is None:
                break
            request_bytes += len(record.content) + 1
            answer_bytes += record.answer_bytes * self._answer_scale
            is_full = request_bytes > self._bytes_max or answer_bytes > ANSWER_BYTES_MAX
            if part and is_full:
                waiting.put_back(record)
                break
            part.append(record)
        return part

    def _answer(self, start: int, part: list[Record]) -> Mapping[str, Any]:
        content = _START + b",".join(record.content for record in part) + self._end
        answer, answer_bytes = self._send(content, f"{self._key}-{start}-{len(part)}")
        if len(answer["results"]) != len(part):
            raise ServiceError(
                f"the answer has {len(answer['results'])} results for {len(part)} applicants",
                code="foreign_answer",
                status=200,
                request_id=str(answer.get("request_id")),
            )
        expected = sum(record.answer_bytes for record in part)
        self._answer_scale = max(self._answer_scale, answer_bytes / max(1, expected))
        return answer

    def _halve(self, part: list[Record]) -> int:
        """Note that a batch was too large; returns where to cut it."""
        half = len(part) // 2
        self._rows_max = min(self._rows_max, max(1, half))
        request_bytes = sum(len(record.content) + 1 for record in part)
        self._bytes_max = min(self._bytes_max, request_bytes // 2)
        return half


_START = b'{"records":['


class _Waiting:
    """Records that were not sent; one can be put back."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = iter(records)
        self._held: Record | None = None

    def take(self) -> Record | None:
        held, self._held = self._held, None
        return next(self._records, None) if held is None else held

    def put_back(self, record: Record) -> None:
        self._held = record


def idempotency_key(key: str | None) -> str:
    """Check a caller's key, or make one.

    Raises:
        ValueRefused: for what does not fit into the header.

    """
    if key is None:
        return uuid.uuid4().hex
    return header_text(key, "idempotency_key", _KEY_CHARS_MAX)


def header_text(value: object, what: str, chars_max: int) -> str:
    """Check a text that is sent in a header.

    Raises:
        ValueRefused: for anything but a text of so many printable characters of ASCII.

    """
    is_sound = isinstance(value, str) and value.isascii() and value.isprintable()
    if not isinstance(value, str) or not is_sound or not 1 <= len(value) <= chars_max:
        raise refuse(f"{what} is a text of 1 to {chars_max} printable ASCII characters")
    return value


def _shift(error: ScorelineError, rows: int) -> None:
    """Count the records of a fault from the first one of all."""
    error.details = tuple(
        {**detail, "index": detail["index"] + rows}
        if isinstance(detail.get("index"), int)
        else detail
        for detail in error.details
    )
