"""What became of applicants."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from .connection import slug_of
from .errors import refuse
from .frames import pandas
from .registry import Registry
from .transport import Call
from .values import (
    encode,
    frame_from,
    is_frame,
    mappings_from,
    plain,
    reference_text,
    references,
    require_columns,
    row_names,
)

if TYPE_CHECKING:
    from pandas import DataFrame

#: A date, or a moment with a time zone, or its text.
Day = datetime.date | str | None
_OUTCOMES_MAX = 10_000
_OUTCOME_COLUMNS = ("status", "request_id", "record_index", "matched_of", "message")
#: Fields that name an applicant, as the text that `score` sent.
_NAMES = ("reference", "record_id")


class Outcomes(Registry):
    """Sends outcomes; a part of `Client`."""

    @overload
    def outcomes(
        self,
        outcomes: DataFrame,
        *,
        deployment: Any = ...,
        kind: Literal["performance", "decision"] | None = ...,
        definition: str | None = ...,
        as_of: Day = ...,
        window_months: int | None = ...,
        decided_at: Day = ...,
        booked_at: Day = ...,
        cutoff: float | None = ...,
        automated: bool | None = ...,
    ) -> DataFrame: ...

    @overload
    def outcomes(
        self,
        outcomes: Iterable[Mapping[str, Any]],
        *,
        deployment: Any = ...,
        kind: Literal["performance", "decision"] | None = ...,
        definition: str | None = ...,
        as_of: Day = ...,
        window_months: int | None = ...,
        decided_at: Day = ...,
        booked_at: Day = ...,
        cutoff: float | None = ...,
        automated: bool | None = ...,
    ) -> list[dict[str, Any]]: ...

    def outcomes(
        self,
        outcomes: Any,
        *,
        deployment: Any = None,
        kind: Literal["performance", "decision"] | None = None,
        definition: str | None = None,
        as_of: Day = None,
        window_months: int | None = None,
        decided_at: Day = None,
        booked_at: Day = None,
        cutoff: float | None = None,
        automated: bool | None = None,
    ) -> Any:
        """Send what became of applicants.

        Args:
            outcomes: a frame whose columns are fields of an outcome, such as `reference`,
                `outcome`, `as_of` and `event_date`; or mappings. Empty cells are left out.
            deployment: of all of them: its name or slug, or what `deploy` or `deployment` returned.
            kind: of all of them, `performance` or `decision`.
            definition: of all of them: id of a definition of outcomes.
            as_of: of all of them, a date.
            window_months: of all of them.
            decided_at: of all of them, a date.
            booked_at: of all of them, a date.
            cutoff: of all of them.
            automated: of all of them.

        Returns:
            For a frame, a frame with its index: `status`, and the applicant whom the outcome
            belongs to as `request_id` and `record_index`, `matched_of` and `message`. For mappings,
            a list.

        """
        outcomes = frame_from(outcomes)
        slug = None if deployment is None else self._slug(deployment)
        same = {
            **{"deployment": slug, "kind": kind, "definition": definition, "as_of": as_of},
            **{"window_months": window_months, "decided_at": decided_at, "booked_at": booked_at},
            **{"cutoff": cutoff, "automated": automated},
        }
        same = {name: value for name, value in same.items() if value is not None}
        fields = _outcome(same, "all outcomes")
        if not is_frame(outcomes):
            given_ones = enumerate(mappings_from(outcomes, "outcome"))
            return self._send_outcomes(
                [{**fields, **_outcome(one, f"outcome {at}")} for at, one in given_ones]
            )
        require_columns(outcomes, list(outcomes.columns), "the request")
        span = (0, len(outcomes))
        columns = {
            str(name): references(outcomes, name, span)
            if name in _NAMES
            else outcomes[name].tolist()
            for name in outcomes.columns
        }
        named = row_names(outcomes.index, *span)
        items = [
            {
                **fields,
                **_outcome(dict(zip(columns, row, strict=True)), where),
            }
            for where, row in zip(named, zip(*columns.values(), strict=True), strict=False)
        ]
        results = self._send_outcomes(items)
        return pandas().DataFrame(results, columns=list(_OUTCOME_COLUMNS), index=outcomes.index)

    def _send_outcomes(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for start in range(0, len(items), _OUTCOMES_MAX):
            body = encode({"outcomes": items[start : start + _OUTCOMES_MAX]})
            # Nothing is lost by sending an outcome twice.
            call = Call("POST", "/v1/outcomes", self._sender(), content=body)
            count = min(_OUTCOMES_MAX, len(items) - start)
            results += self._json(call, partial(_outcome_rows, count))
        return results


def _outcome(one: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The fields of an outcome that are not empty."""
    fields: dict[str, Any] = {}
    for name, value in one.items():
        where = f"{name!r} of {at}"
        if name == "deployment":
            value = slug_of(value)
        if isinstance(value, list | tuple):
            fields[name] = [str(text) for text in value]
            continue
        if isinstance(value, bool) or type(value).__name__ == "bool_":
            fields[name] = bool(value)
            continue
        if name in _NAMES:
            text: Any = reference_text(value, where)
        else:
            is_date = isinstance(value, datetime.date) and value == value
            text = date_text(value) if is_date else plain(value, where)
        if text is not None:
            whole = isinstance(text, float) and text.is_integer() and name.endswith("index")
            fields[name] = int(text) if whole else text
    return fields


def date_text(value: Any) -> str:
    """Write a date, or a moment; one without a time zone must be a whole day."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            return value.isoformat()
        if (value.hour, value.minute, value.second, value.microsecond) != (0, 0, 0, 0):
            raise refuse(f"{value} has no time zone: add one, such as with .tz_localize('UTC')")
        return value.date().isoformat()
    return str(value.isoformat())


def _outcome_rows(count: int, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read the results of so many outcomes, each of which says its position."""
    if [one["index"] for one in answer["results"]] != list(range(count)):
        raise ValueError("results of other outcomes")
    return [_outcome_row(one) for one in answer["results"]]


def _outcome_row(one: Mapping[str, Any]) -> dict[str, Any]:
    applicant = one.get("applicant", {})
    return {
        "status": one["status"],
        "request_id": applicant.get("request_id"),
        "record_index": applicant.get("record_index"),
        "matched_of": one.get("matched_of"),
        "message": one.get("message"),
    }
