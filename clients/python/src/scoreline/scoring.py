"""Scores of many applicants, in batches of which each is logged once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from .errors import ScorelineError, ServiceError, refuse
from .frames import pandas
from .progress import Progress, is_wanted
from .values import encode, plain, record, records, require_columns

#: Most records of a batch that the service takes.
BATCH_ROWS_MAX = 1000
#: Longest answer that the service keeps for an `Idempotency-Key` is 4 MiB; this leaves room.
_ANSWER_BYTES = 3_000_000
_RESULT_BYTES = 400
_FEATURE_BYTES = 40
_REFERENCE = "id"

#: Sends one body with a key and returns the answer, and how many bytes it had.
Send = Callable[[bytes, str], tuple[Mapping[str, Any], int]]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Asked:
    """What a caller asks of a score, beside the applicants."""

    features: Sequence[str] | None = None
    reference: str | None = None
    points: bool = True
    reasons: int | None = None
    lang: str | None = None
    strict: bool = False
    batch_rows: int = BATCH_ROWS_MAX
    progress: bool | None = None

    def fields(self) -> dict[str, Any]:
        """Write the fields of a batch, beside its records."""
        fields: dict[str, Any] = {}
        if self.points:
            fields["include_contributions"] = True
        if self.reasons is not None:
            fields["include_reasons"] = self.reasons
            if self.lang is not None:
                fields["lang"] = self.lang
        if self.strict:
            fields["strict_mode"] = True
        return fields


class _Sizer:
    """How many rows a batch has, so that the service can keep its answer for a retry."""

    def __init__(self, asked: Asked, columns: int) -> None:
        if not 1 <= asked.batch_rows <= BATCH_ROWS_MAX:
            raise refuse(f"batch_rows is 1 to {BATCH_ROWS_MAX}")
        self._rows_max = asked.batch_rows
        per_row = _RESULT_BYTES * (1 + (asked.reasons or 0)) + _FEATURE_BYTES * columns
        self.rows = self._within(per_row)

    def learn(self, answer_bytes: int, rows: int) -> None:
        self.rows = min(self.rows, self._within(answer_bytes / max(1, rows)))

    def _within(self, bytes_per_row: float) -> int:
        return max(1, min(self._rows_max, int(_ANSWER_BYTES / max(1.0, bytes_per_row))))


def score_frame(send: Send, frame: Any, asked: Asked) -> Any:
    """Score a frame.

    Returns:
        A frame with the same index, in the same order.

    """
    if asked.reference is None and _REFERENCE in list(frame.columns):
        asked = replace(asked, reference=_REFERENCE)
    columns = _columns(frame, asked)
    rows = len(frame)
    sizer = _Sizer(asked, len(columns))
    parts: list[Any] = []
    at = 0
    with Progress(rows, is_shown=is_wanted(asked.progress, rows, sizer.rows)) as progress:
        while at < rows:
            end = min(rows, at + sizer.rows)
            try:
                sent = _renamed(records(frame, columns, (at, end)), asked.reference)
                results = _send(send, sent, asked, sizer)
            except ScorelineError as error:
                _place(error, frame.index[at:end])
                error.scored = _joined(parts, frame.index[:at])
                raise
            parts.append(_part(results, frame.index[at:end]))
            progress.add(end - at)
            at = end
    return _joined(parts, frame.index)


def score_rows(send: Send, rows: Iterable[Mapping[str, Any]], asked: Asked) -> list[dict[str, Any]]:
    """Score applicants who are given as mappings; needs no pandas."""
    scored: list[dict[str, Any]] = []
    with Progress(None, is_shown=is_wanted(asked.progress, 0, 1)) as progress:
        for start, chunk in _chunks(rows, asked):
            try:
                sent = [
                    _named(row, asked, f"applicant {start + at}") for at, row in enumerate(chunk)
                ]
                scored += _send(send, sent, asked, _Sizer(asked, 0))
            except ScorelineError as error:
                _place(error, range(start, start + len(chunk)))
                error.scored = scored
                raise
            progress.add(len(chunk))
    return scored


def _chunks(rows: Iterable[Mapping[str, Any]], asked: Asked) -> Iterator[tuple[int, Rows]]:
    waiting = iter(rows)
    start = 0
    while True:
        first = next(waiting, None)
        if first is None:
            return
        wanted = _Sizer(asked, len(first)).rows
        chunk = [first, *islice(waiting, wanted - 1)]
        yield start, chunk
        start += len(chunk)


def reference_of(row: Mapping[str, Any], asked: Asked) -> str | None:
    """The field with the number of the application."""
    return _REFERENCE if asked.reference is None and _REFERENCE in row else asked.reference


def _named(row: Mapping[str, Any], asked: Asked, at: str) -> dict[str, Any]:
    """A record, with its reference under the name that the service knows."""
    name = reference_of(row, asked)
    sent = features_of(row, asked, at)
    return sent if name is None else {**sent, _REFERENCE: plain(row[name], f"{name!r} of {at}")}


def features_of(row: Mapping[str, Any], asked: Asked, at: str) -> dict[str, Any]:
    """The features of an applicant who is given as a mapping.

    Raises:
        ValueRefused: naming a feature that the applicant lacks.

    """
    reference = reference_of(row, asked)
    names = row if asked.features is None else asked.features
    absent = [name for name in names if name not in row]
    if absent:
        raise refuse(f"{at} has no {absent[0]!r}, which `features` names; None is a missing value")
    return record(row, (name for name in names if name != reference), at)


def _columns(frame: Any, asked: Asked) -> list[str]:
    """The columns that are sent."""
    wanted = list(asked.features) if asked.features is not None else list(frame.columns)
    named = [] if asked.reference is None else [asked.reference]
    require_columns(frame, [*wanted, *named], "the request")
    unnamed = [name for name in wanted if not isinstance(name, str)]
    if unnamed:
        raise refuse(f"the column {unnamed[0]!r} has no text as its name: rename it")
    return [*wanted, *(name for name in named if name not in wanted)]


def _renamed(rows: list[dict[str, Any]], reference: str | None) -> list[dict[str, Any]]:
    """Give the column of the reference the name that the service knows."""
    if reference is not None and reference != _REFERENCE:
        for row in rows:
            row[_REFERENCE] = row.pop(reference)
    return rows


def _send(send: Send, rows: Rows, asked: Asked, sizer: _Sizer) -> list[dict[str, Any]]:
    """Score the rows of a batch; in halves where the service says that they are too many."""
    if not rows:
        return []
    try:
        answer, answer_bytes = send(encode({"records": rows, **asked.fields()}), uuid.uuid4().hex)
    except ServiceError as error:
        if error.status != 413 or len(rows) == 1:
            raise
        half = len(rows) // 2
        sizer.learn(_ANSWER_BYTES * 2, len(rows))
        first = _send(send, rows[:half], asked, sizer)
        try:
            return [*first, *_send(send, rows[half:], asked, sizer)]
        except ScorelineError as later:
            _shift(later, half)
            raise
    sizer.learn(answer_bytes, len(rows))
    results = [result_of(one, at, answer) for at, one in enumerate(answer["results"])]
    if all(str(row["warnings"]).startswith("no_features") for row in results):
        raise ServiceError(
            "the applicants name none of the model's features, so all have the same score: "
            f"compare the columns with {', '.join(results[0]['_features']) or 'the card'}",
            code="no_features",
            status=200,
            request_id=str(answer["request_id"]),
        )
    for row in results:
        del row["_features"]
    return results


def result_of(one: Mapping[str, Any], at: int, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of one applicant.

    Args:
        one: the applicant's result.
        at: position in the batch.
        answer: what holds for the whole batch.

    """
    contributions = one.get("contributions", {})
    row: dict[str, Any] = {
        "score": one["score"],
        "pd": one["pd"],
        "risk_grade": one["risk_grade"],
        **{f"{name}_points": points for name, points in contributions.items()},
    }
    for reason in one.get("reasons", ()):
        row[f"reason_{reason['rank']}"] = reason["code"]
        row[f"reason_{reason['rank']}_text"] = reason["text"]
    for shadow in one.get("shadow_scores", ()):
        row[f"shadow_{shadow['challenger_id']}_score"] = shadow["score"]
    return {
        **row,
        "warnings": "; ".join(map(_warning, one["warnings"])) or None,
        "model_version": answer["model_version"],
        "request_id": answer["request_id"],
        "record_index": at,
        "_features": list(contributions),
    }


def _warning(warning: Any) -> str:
    if isinstance(warning, str):
        return warning
    return f"{warning['type']}: {warning['variable']}"


def _part(results: Sequence[Mapping[str, Any]], index: Any) -> Any:
    """A frame whose columns have the same types in each batch."""
    part = pandas().DataFrame(list(results), index=index)
    return part.astype({name: _type_of(str(name)) for name in part.columns})


def _type_of(name: str) -> Any:
    if name in ("score", "pd") or name.endswith(("_points", "_score")):
        return float
    return int if name == "record_index" else object


def _joined(parts: Sequence[Any], index: Any) -> Any:
    pd = pandas()
    if not parts:
        return pd.DataFrame(columns=["score", "pd", "risk_grade"], index=index[:0])
    return parts[0] if len(parts) == 1 else pd.concat(parts)


def _shift(error: ScorelineError, rows: int) -> None:
    """Count the rows of a fault from the start of the whole batch."""
    error.details = tuple(
        {**detail, "index": detail["index"] + rows}
        if isinstance(detail.get("index"), int)
        else detail
        for detail in error.details
    )


def _place(error: ScorelineError, labels: Sequence[Any]) -> None:
    """Say which row of the caller's data a fault is in."""
    error.details = tuple(
        {**detail, "row": labels[detail["index"]]}
        if isinstance(detail.get("index"), int) and detail["index"] < len(labels)
        else detail
        for detail in error.details
    )
