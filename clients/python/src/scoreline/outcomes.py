"""What became of applicants."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from .connection import Connection, slug_of
from .errors import refuse
from .frames import pandas
from .transport import Call
from .values import encode, is_frame, plain, reference_text, references, require_columns

_OUTCOMES_MAX = 10_000
_OUTCOME_COLUMNS = ("status", "request_id", "record_index", "matched_of", "message")
#: Fields that name an applicant, as the text that `score` sent.
_NAMES = ("reference", "record_id")


class Outcomes(Connection):
    """Sends outcomes; a part of `Client`."""

    def outcomes(self, outcomes: Any, **same: Any) -> Any:
        """Send what became of applicants.

        Args:
            outcomes: a frame whose columns are fields of an outcome, such as `reference`,
                `outcome`, `as_of` and `event_date`; or mappings. Empty cells are left out.
            same: fields that all of them have, such as `deployment`, `kind` and `definition`.

        Returns:
            For a frame, a frame with its index: the status of each, and the applicant whom it
            belongs to. For mappings, a list.

        """
        fields = _outcome(same, "all outcomes")
        if not is_frame(outcomes):
            return self._send_outcomes(
                [{**fields, **_outcome(one, f"outcome {at}")} for at, one in enumerate(outcomes)]
            )
        require_columns(outcomes, [], "the request")
        span = (0, len(outcomes))
        columns = {
            str(name): references(outcomes, name, span)
            if name in _NAMES
            else outcomes[name].tolist()
            for name in outcomes.columns
        }
        items = [
            {
                **fields,
                **_outcome(dict(zip(columns, row, strict=True)), f"row {outcomes.index[at]!r}"),
            }
            for at, row in enumerate(zip(*columns.values(), strict=True))
        ]
        results = self._send_outcomes(items)
        return pandas().DataFrame(results, columns=list(_OUTCOME_COLUMNS), index=outcomes.index)

    def _send_outcomes(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for start in range(0, len(items), _OUTCOMES_MAX):
            body = encode({"outcomes": items[start : start + _OUTCOMES_MAX]})
            # Nothing is lost by sending an outcome twice.
            call = Call("POST", "/v1/outcomes", self._sender(), content=body)
            results += [_outcome_row(one) for one in self._json(call)["results"]]
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


def _outcome_row(one: Mapping[str, Any]) -> dict[str, Any]:
    applicant = one.get("applicant", {})
    return {
        "status": one["status"],
        "request_id": applicant.get("request_id"),
        "record_index": applicant.get("record_index"),
        "matched_of": one.get("matched_of"),
        "message": one.get("message"),
    }
