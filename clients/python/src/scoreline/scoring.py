"""Scores of many applicants, from frames and mappings to frames and dicts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from .batching import BATCH_ROWS_MAX, Batches, Record
from .errors import ScorelineError, ServiceError, refuse
from .frames import pandas
from .progress import Progress, is_wanted
from .values import (
    Flags,
    encode,
    listed,
    look_at,
    mappings_from,
    record,
    records,
    reference_text,
    references,
    require_columns,
    whole,
)

_RESULT_BYTES = 400
_POINTS_BYTES = 30
_WARNING_BYTES = 45
#: What the service calls the reference of a record, so that no feature has this name.
_REFERENCE = "id"
_MISSING = "missing_feature: "
_NONE_IS = "None is a missing value"


@dataclass(frozen=True)
class Wants:
    """What a deployment wants of an applicant.

    Attributes:
        names: features of the champion and of all challengers.
        required: those that must be there, even if their value is missing.
        flags: what features read for False and True, where they read booleans.
        numeric: those that read numbers only.

    """

    names: tuple[str, ...]
    required: tuple[str, ...] = ()
    flags: Mapping[str, Flags] = field(default_factory=dict)
    numeric: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Asked:
    """What a caller asks of a score, beside the applicants."""

    features: Sequence[str] | None = None
    reference: str | None = None
    routing_key: str | None = None
    idempotency_key: str | None = None
    points: bool = False
    reasons: int | None = None
    lang: str | None = None
    strict: bool = False
    batch_rows: int = BATCH_ROWS_MAX
    progress: bool | None = None
    #: What the deployment wants, if the caller does not say which features to send.
    wants: Wants | None = None

    def __post_init__(self) -> None:
        if self.features is not None:
            listed(self.features, "features")
        if self.reasons is not None:
            whole(self.reasons, f"reasons is how many are answered, and not {self.reasons!r}")

    @property
    def flags(self) -> Mapping[str, Flags]:
        """What features read for False and True."""
        return {} if self.wants is None else self.wants.flags

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


class LeftOut:
    """Fields of the caller that are not sent, because the deployment does not want them."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.names: set[str] = set()

    def note(self, had: Iterable[Any], sent: Iterable[str]) -> None:
        """Compare what the caller has with what is sent."""
        if self._asked.wants is not None:
            self.names |= {str(name) for name in had}.difference(sent, (self._asked.reference,))


def refuse_left_out(result: Mapping[str, Any], answer: Mapping[str, Any], left: LeftOut) -> None:
    """Refuse a result that was made without a field which the caller has.

    Raises:
        ServiceError: `features_changed`: the deployment was changed during the call.

    """
    if not left.names:
        return
    wanted = {
        *result.get("contributions", ()),
        *(
            one.removeprefix(_MISSING)
            for one in result["warnings"]
            if isinstance(one, str) and one.startswith(_MISSING)
        ),
        *(
            name
            for one in result.get("shadow_scores", ())
            for name in one.get("missing_features", ())
        ),
    }
    names = sorted(wanted & left.names)
    if names:
        raise ServiceError(
            f"the deployment was changed during the call and wants {', '.join(names)}, too: these "
            "scores are made without it, so make the call again",
            code="features_changed",
            status=200,
            request_id=str(answer["request_id"]),
        )


@dataclass
class Begun:
    """A call that scores many, as far as it came: its batches, and what was scored."""

    batches: Batches
    parts: list[Any] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many applicants are scored."""
        return sum(map(len, self.parts))


def score_frame(begun: Begun, frame: Any, asked: Asked) -> Any:
    """Score a frame, from where the call came to.

    Returns:
        A frame with the same index, in the same order.

    """
    if asked.reference is None and _REFERENCE in list(frame.columns):
        asked = replace(asked, reference=_REFERENCE)
    columns = _columns(frame, asked)
    total = len(frame)
    parts = begun.parts
    at = begun.count
    with Progress(total, is_shown=is_wanted(asked.progress, total, asked.batch_rows)) as progress:
        progress.add(at)
        try:
            look_at(frame, columns, asked.flags, asked.wants.numeric if asked.wants else ())
            if asked.reference is not None:
                references(frame, asked.reference, (0, total))
            left = LeftOut(asked)
            left.note(frame.columns, columns)
            sent = _frame_records(frame, columns, asked, at)
            for results in _results(begun.batches, sent, at, asked, left):
                parts.append(_part(results, frame.index[at : at + len(results)]))
                at += len(results)
                progress.add(len(results))
        except (ScorelineError, KeyboardInterrupt) as error:
            index = frame.index
            stop(error, _joined(parts, index, asked), lambda row: index[row : row + 1].tolist()[0])
            raise
    return _joined(parts, frame.index, asked)


def stop(
    error: ScorelineError | KeyboardInterrupt, scored: Any, label: Callable[[int], Any]
) -> None:
    """Give what ended a call what was scored before it, and the rows that it is about."""
    error.scored = scored  # type: ignore[union-attr]
    if isinstance(error, ScorelineError):
        _place(error, label)


def score_rows(
    begun: Begun, rows: Iterable[Mapping[str, Any]], asked: Asked
) -> list[dict[str, Any]]:
    """Score applicants who are given as mappings, from where the call came to; needs no pandas."""
    at = begun.count
    with Progress(None, is_shown=is_wanted(asked.progress, 0, 1)) as progress:
        progress.add(at)
        try:
            if isinstance(rows, Sequence):
                # Looked at before anything is sent; a stream can't be.
                deque(_row_records(rows, asked, LeftOut(asked)), maxlen=0)
            left = LeftOut(asked)
            sent = islice(_row_records(rows, asked, left), at, None)
            for results in _results(begun.batches, sent, at, asked, left):
                begun.parts.append(results)
                progress.add(len(results))
        except (ScorelineError, KeyboardInterrupt) as error:
            stop(error, [*chain.from_iterable(begun.parts)], lambda index: index)
            raise
    return [*chain.from_iterable(begun.parts)]


def _results(
    batches: Batches, sent: Iterable[Record], at: int, asked: Asked, left: LeftOut
) -> Iterator[list[dict[str, Any]]]:
    """Score records, whose first one has the position `at`; each list is that of a batch."""
    for start, answer in batches.answers(sent, at):
        for one in answer["results"]:
            refuse_left_out(one, answer, left)
        results = [
            result_of(one, at, answer, asked.reasons) for at, one in enumerate(answer["results"])
        ]
        if start == 0 and all(str(row["warnings"]).startswith("no_features") for row in results):
            raise ServiceError(
                "the applicants name none of the model's features, so all have the same score: "
                f"compare the columns with {_known(results[0], asked)}",
                code="no_features",
                status=200,
                request_id=str(answer["request_id"]),
            )
        for row in results:
            del row["_features"]
        yield results


def _known(result: Mapping[str, Any], asked: Asked) -> str:
    """List the features of a model, as far as they are known."""
    names = result["_features"] or ([] if asked.wants is None else asked.wants.names)
    return ", ".join(names) or "the card"


def _frame_records(frame: Any, columns: Sequence[str], asked: Asked, at: int) -> Iterator[Record]:
    """Convert a frame from a row on, a batch at a time.

    So it can be larger than the memory for its JSON.
    """
    answer_bytes = asked.answer_bytes(columns)
    for start in range(at, len(frame), asked.batch_rows):
        span = (start, min(len(frame), start + asked.batch_rows))
        rows: list[dict[str, Any]] = [*records(frame, columns, span, asked.flags)]
        if asked.reference is not None:
            named = references(frame, asked.reference, span)
            for row, reference in zip(rows, named, strict=True):
                if reference is not None:
                    row[_REFERENCE] = reference
        for row in rows:
            yield Record(encode(row), answer_bytes, row.get(_REFERENCE))


def _row_records(
    rows: Iterable[Mapping[str, Any]], asked: Asked, left: LeftOut
) -> Iterator[Record]:
    for at, row in enumerate(mappings_from(rows, "applicant")):
        where = f"applicant {at}"
        sent = features_of(row, asked, where)
        left.note(row, sent)
        answer_bytes = asked.answer_bytes(sent)
        reference = reference_of(row, asked, where)
        if reference is not None:
            sent[_REFERENCE] = reference
        yield Record(encode(sent), answer_bytes, sent.get(_REFERENCE))


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
    if asked.wants is not None:
        lacking = [name for name in asked.wants.required if name not in row]
        if lacking:
            raise refuse(f"{at} has no {lacking[0]!r}, which the deployment wants; {_NONE_IS}")
        return record(row, (name for name in asked.wants.names if name in row), at, asked.flags)
    if asked.features is None:
        names = (name for name in row if name not in (asked.reference, _REFERENCE))
        return record(row, names, at, asked.flags)
    absent = [name for name in asked.features if name not in row]
    if absent:
        raise refuse(f"{at} has no {absent[0]!r}, which `features` names; {_NONE_IS}")
    return record(row, (name for name in asked.features if name != _REFERENCE), at, asked.flags)


def _columns(frame: Any, asked: Asked) -> list[str]:
    """The columns that are sent as features."""
    if asked.wants is not None:
        has = set(frame.columns)
        wanted = [name for name in asked.wants.names if name in has or name in asked.wants.required]
    elif asked.features is None:
        wanted = [name for name in frame.columns if name != asked.reference]
    else:
        wanted = list(asked.features)
    named = [] if asked.reference is None else [asked.reference]
    require_columns(frame, [*wanted, *named], "the request")
    unnamed = [name for name in wanted if not isinstance(name, str)]
    if unnamed:
        raise refuse(f"the column {unnamed[0]!r} has no text as its name: rename it")
    return [name for name in wanted if name != _REFERENCE]


def result_of(
    one: Mapping[str, Any], at: int, answer: Mapping[str, Any], reasons: int | None
) -> dict[str, Any]:
    """Make the row of one applicant.

    Args:
        one: the applicant's result.
        at: position in the batch.
        answer: what holds for the whole batch.
        reasons: how many were asked for; an applicant can have fewer.

    """
    contributions = one.get("contributions", {})
    row: dict[str, Any] = {
        "score": one["score"],
        "pd": one["pd"],
        "risk_grade": one["risk_grade"],
        **{f"{name}_points": points for name, points in contributions.items()},
        **dict.fromkeys(_reason_columns(reasons)),
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


def _reason_columns(reasons: int | None) -> list[str]:
    ranks = range(1, 1 + (reasons or 0))
    return [name for rank in ranks for name in (f"reason_{rank}", f"reason_{rank}_text")]


def _warning(warning: Any) -> str:
    if isinstance(warning, str):
        return warning
    return f"{warning['type']}: {warning['variable']}"


def _part(
    results: Sequence[Mapping[str, Any]], index: Any, columns: Sequence[str] | None = None
) -> Any:
    """A frame whose columns have the same types in each batch."""
    part = pandas().DataFrame(list(results), index=index, columns=columns)
    return part.astype({name: _type_of(str(name)) for name in part.columns})


def _type_of(name: str) -> Any:
    if name in ("score", "pd") or name.endswith(("_points", "_score")):
        return float
    return int if name == "record_index" else object


def _joined(parts: Sequence[Any], index: Any, asked: Asked) -> Any:
    if not parts:
        reasons = _reason_columns(asked.reasons)
        tail = ["warnings", "model_version", "request_id", "record_index"]
        return _part([], index[:0], ["score", "pd", "risk_grade", *reasons, *tail])
    return parts[0] if len(parts) == 1 else pandas().concat(parts)


def _place(error: ScorelineError, label: Callable[[int], Any]) -> None:
    """Say which row of the caller's data a fault is in."""
    error.details = tuple(
        {**detail, "row": label(detail["index"])}
        if isinstance(detail.get("index"), int)
        else detail
        for detail in error.details
    )
