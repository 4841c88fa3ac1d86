"""Scores of many applicants, from frames and mappings to frames and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .batching import BATCH_ROWS_MAX, Batches, Record, Send
from .errors import ScorelineError, ServiceError, refuse
from .frames import pandas
from .progress import Progress, is_wanted
from .values import encode, record, records, reference_text, references, require_columns

_RESULT_BYTES = 400
_POINTS_BYTES = 30
_WARNING_BYTES = 45
#: What the service calls the reference of a record, so that no feature has this name.
_REFERENCE = "id"


@dataclass(frozen=True)
class Asked:
    """What a caller asks of a score, beside the applicants."""

    features: Sequence[str] | None = None
    reference: str | None = None
    routing_key: str | None = None
    idempotency_key: str | None = None
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

    def answer_bytes(self, names: Iterable[str]) -> int:
        """Return how long the result of a record with these features is at most, as a rule.

        Every feature can have points and a warning.
        """
        each = _WARNING_BYTES + (_POINTS_BYTES if self.points else 0)
        times = 2 if self.points else 1
        return _RESULT_BYTES * (1 + (self.reasons or 0)) + sum(
            each + times * len(name) for name in names
        )


def score_frame(send: Send, frame: Any, asked: Asked) -> Any:
    """Score a frame.

    Returns:
        A frame with the same index, in the same order.

    """
    if asked.reference is None and _REFERENCE in list(frame.columns):
        asked = replace(asked, reference=_REFERENCE)
    columns = _columns(frame, asked)
    total = len(frame)
    parts: list[Any] = []
    at = 0
    with Progress(total, is_shown=is_wanted(asked.progress, total, asked.batch_rows)) as progress:
        try:
            for results in _results(send, _frame_records(frame, columns, asked), asked):
                parts.append(_part(results, frame.index[at : at + len(results)]))
                at += len(results)
                progress.add(len(results))
        except ScorelineError as error:
            _place(error, lambda index: frame.index[index])
            error.scored = _joined(parts, frame.index[:at])
            raise
    return _joined(parts, frame.index)


def score_rows(send: Send, rows: Iterable[Mapping[str, Any]], asked: Asked) -> list[dict[str, Any]]:
    """Score applicants who are given as mappings; needs no pandas."""
    scored: list[dict[str, Any]] = []
    with Progress(None, is_shown=is_wanted(asked.progress, 0, 1)) as progress:
        try:
            for results in _results(send, _row_records(rows, asked), asked):
                scored += results
                progress.add(len(results))
        except ScorelineError as error:
            _place(error, lambda index: index)
            error.scored = scored
            raise
    return scored


def _results(send: Send, sent: Iterable[Record], asked: Asked) -> Iterator[list[dict[str, Any]]]:
    """Score records; each list is that of a batch."""
    batches = Batches(
        send, rows_max=asked.batch_rows, fields=asked.fields(), key=asked.idempotency_key
    )
    for start, answer in batches.answers(sent):
        results = [result_of(one, at, answer) for at, one in enumerate(answer["results"])]
        if start == 0 and all(str(row["warnings"]).startswith("no_features") for row in results):
            raise ServiceError(
                "the applicants name none of the model's features, so all have the same score: "
                f"compare the columns with {', '.join(results[0]['_features']) or 'the card'}",
                code="no_features",
                status=200,
                request_id=str(answer["request_id"]),
            )
        for row in results:
            del row["_features"]
        yield results


def _frame_records(frame: Any, columns: Sequence[str], asked: Asked) -> Iterator[Record]:
    """Convert a frame, a batch at a time, so that it can be larger than the memory for its JSON."""
    answer_bytes = asked.answer_bytes(columns)
    for start in range(0, len(frame), asked.batch_rows):
        span = (start, min(len(frame), start + asked.batch_rows))
        rows: list[dict[str, Any]] = [*records(frame, columns, span)]
        if asked.reference is not None:
            named = references(frame, asked.reference, span)
            for row, reference in zip(rows, named, strict=True):
                if reference is not None:
                    row[_REFERENCE] = reference
        for row in rows:
            yield Record(encode(row), answer_bytes)


def _row_records(rows: Iterable[Mapping[str, Any]], asked: Asked) -> Iterator[Record]:
    for at, row in enumerate(rows):
        where = f"applicant {at}"
        sent = features_of(row, asked, where)
        answer_bytes = asked.answer_bytes(sent)
        reference = reference_of(row, asked, where)
        if reference is not None:
            sent[_REFERENCE] = reference
        yield Record(encode(sent), answer_bytes)


def reference_of(row: Mapping[str, Any], asked: Asked, at: str) -> str | None:
    """Return the number of an application; None if the applicant has none.

    Raises:
        ValueRefused: for an applicant without the field, and for a value that names nothing.

    """
    name = asked.reference
    if name is None:
        name = _REFERENCE if _REFERENCE in row else None
    elif name not in row:
        raise refuse(f"{at} has no {name!r}, which `reference` names; None stands for none")
    return None if name is None else reference_text(row[name], f"{name!r} of {at}")


def features_of(row: Mapping[str, Any], asked: Asked, at: str) -> dict[str, Any]:
    """The features of an applicant who is given as a mapping.

    The reference is a feature, too, if `features` names it.

    Raises:
        ValueRefused: naming a feature that the applicant lacks.

    """
    if asked.features is None:
        return record(row, (name for name in row if name not in (asked.reference, _REFERENCE)), at)
    absent = [name for name in asked.features if name not in row]
    if absent:
        raise refuse(f"{at} has no {absent[0]!r}, which `features` names; None is a missing value")
    return record(row, (name for name in asked.features if name != _REFERENCE), at)


def _columns(frame: Any, asked: Asked) -> list[str]:
    """The columns that are sent as features."""
    if asked.features is None:
        wanted = [name for name in frame.columns if name != asked.reference]
    else:
        wanted = list(asked.features)
    named = [] if asked.reference is None else [asked.reference]
    require_columns(frame, [*wanted, *named], "the request")
    unnamed = [name for name in wanted if not isinstance(name, str)]
    if unnamed:
        raise refuse(f"the column {unnamed[0]!r} has no text as its name: rename it")
    return [name for name in wanted if name != _REFERENCE]


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


def _place(error: ScorelineError, label: Callable[[int], Any]) -> None:
    """Say which row of the caller's data a fault is in."""
    error.details = tuple(
        {**detail, "row": label(detail["index"])}
        if isinstance(detail.get("index"), int)
        else detail
        for detail in error.details
    )
