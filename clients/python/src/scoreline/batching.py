"""Applicants as batches that the service takes, each of which is logged once."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ScorelineError, refuse
from .values import encode, whole

#: Most records of a batch that the service takes.
BATCH_ROWS_MAX = 1000
#: The service takes 16 MiB unless its operator says otherwise; this leaves room for a lower bound.
REQUEST_BYTES_MAX = 8_000_000
#: Longest answer that the service keeps for an `Idempotency-Key` is 4 MiB; this leaves room.
ANSWER_BYTES_MAX = 3_000_000
_KEY_CHARS_MAX = 200

#: Sends one body with an idempotency key, for the applicants of these names, and returns the
#: answer, and how many bytes it had.
Send = Callable[[bytes, str, Sequence[str | None]], tuple[Mapping[str, Any], int]]


@dataclass(frozen=True)
class Record:
    """An applicant as JSON, how many bytes of the answer are expected of it, and its name."""

    content: bytes
    answer_bytes: int
    name: str | None = None


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
        said = f"batch_rows is a whole number, 1 to {BATCH_ROWS_MAX}"
        if not 1 <= whole(rows_max, said) <= BATCH_ROWS_MAX:
            raise refuse(said)
        self._send = send
        self._rows_max = rows_max
        self._bytes_max = REQUEST_BYTES_MAX
        written = encode(fields)[1:-1]
        self._end = b"]" + (b"," + written if written else b"") + b"}"
        self._key = idempotency_key(key)
        #: How many records each batch has, by the position of its first one.
        self._sizes: dict[int, int] = {}
        #: How much longer answers were than expected; never below 1.
        self._answer_scale = 1.0

    def answers(
        self, records: Iterable[Record], start: int = 0
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Score records.

        Args:
            records: those from `start` on.
            start: position of the first one: after a call that ended early, that of the first one
                without an answer. What was sent and not answered is sent again as it was.

        Yields:
            The position of the first record of a batch, and its answer.

        Raises:
            ScorelineError: its details count records from the first one of all.

        """
        waiting = _Waiting(records)
        while part := self._next_part(waiting, self._sizes.get(start)):
            self._sizes[start] = len(part)
            try:
                answer = self._answer(start, part)
            except ScorelineError as error:
                if error.status != 413 or len(part) == 1:
                    _shift(error, start)
                    raise
                half = self._halve(part)
                self._sizes |= {start: half, start + half: len(part) - half}
                waiting.put_back(part)
                continue
            yield start, answer
            start += len(part)

    def _next_part(self, waiting: _Waiting, size: int | None) -> list[Record]:
        part: list[Record] = []
        request_bytes = len(_START) + len(self._end)
        answer_bytes = 0.0
        while len(part) < (size or self._rows_max):
            record = waiting.take()
            if record is None:
                break
            request_bytes += len(record.content) + 1
            answer_bytes += record.answer_bytes * self._answer_scale
            is_full = request_bytes > self._bytes_max or answer_bytes > ANSWER_BYTES_MAX
            if part and is_full and size is None:
                waiting.put_back([record])
                break
            part.append(record)
        return part

    def _answer(self, start: int, part: list[Record]) -> Mapping[str, Any]:
        content = _START + b",".join(record.content for record in part) + self._end
        key = f"{self._key}-{start}-{len(part)}"
        answer, answer_bytes = self._send(content, key, [record.name for record in part])
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
    """Records that were not sent; some can be put back."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = iter(records)
        self._held: deque[Record] = deque()

    def take(self) -> Record | None:
        return self._held.popleft() if self._held else next(self._records, None)

    def put_back(self, records: Sequence[Record]) -> None:
        self._held.extendleft(reversed(records))


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
