"""Values of a frame as the service takes them: numbers, texts, and null for what is missing."""

from __future__ import annotations

import datetime
import json
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from .errors import ValueRefused, refuse

#: Above it, doubles skip whole numbers.
INTEGER_MAX = 2**53
_MISSING_TYPES = ("NAType", "NaTType")


def is_frame(data: object) -> bool:
    """Whether an object is a frame of pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def plain(value: Any, where: str = "the value") -> float | int | str | None:
    """Convert a value of pandas, numpy or Python to a number, a text, or None.

    None, NaN, NA and NaT are missing. Numbers keep all of their bits.

    Args:
        value: one cell.
        where: names the cell in an error.

    Raises:
        ValueRefused: booleans, dates, infinite numbers, and whole numbers beyond 2**53.

    """
    kind = type(value)
    if value is None or kind.__name__ in _MISSING_TYPES:
        return None
    if isinstance(value, str):
        return value if kind is str else str(value)
    if isinstance(value, bool) or kind.__name__ in ("bool", "bool_"):
        raise refuse(
            f"{where} is a boolean, and the service takes numbers and texts: convert the column as "
            "the card was fitted, with .astype(int) or .astype(str)"
        )
    if isinstance(value, numbers.Integral):
        whole = int(value)
        if abs(whole) > INTEGER_MAX:
            raise refuse(f"{where} is {whole}, which a double can't hold: send it as a text")
        return whole
    if isinstance(value, numbers.Real | Decimal):
        number = float(value)
        if math.isnan(number):
            return None
        if math.isinf(number):
            raise refuse(f"{where} is {number}: the service takes finite numbers only")
        return number
    if isinstance(value, datetime.date | datetime.time):
        raise refuse(f"{where} is a date: send what the card was fitted on, or leave it out")
    raise refuse(f"{where} is of the type {kind.__name__}: the service takes numbers and texts")


def column(frame: Any, name: Any, start: int, stop: int) -> list[float | int | str | None]:
    """Convert a part of a column."""
    part = frame[name].iloc[start:stop]
    values = part.tolist()
    try:
        return [plain(value) for value in values]
    except ValueRefused:
        # Slower, and it names the row.
        labels = part.index
        return [plain(value, f"{name!r} of row {labels[at]!r}") for at, value in enumerate(values)]


def records(
    frame: Any, columns: Sequence[str], span: tuple[int, int]
) -> list[dict[str, float | int | str | None]]:
    """Convert rows of a frame to records, in their order."""
    lists = [column(frame, name, *span) for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def record(applicant: Mapping[str, Any], names: Iterable[str], at: str) -> dict[str, Any]:
    """Convert one applicant who is given as a mapping."""
    return {str(name): plain(applicant[name], f"{name!r} of {at}") for name in names}


def encode(body: object) -> bytes:
    """Write JSON whose numbers read back to the same bits."""
    text = json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise refuse("a text holds half of a character (a lone surrogate): correct it") from error


def require_columns(frame: Any, wanted: Iterable[str], of: str) -> None:
    """Refuse a frame that lacks columns.

    Raises:
        ValueRefused: naming every column that is not there, or is there twice.

    """
    names = list(frame.columns)
    absent = [name for name in wanted if name not in names]
    if absent:
        listed = ", ".join(map(repr, absent))
        raise refuse(f"the frame has no column {listed}, which {of} needs")
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise refuse(f"the frame has two columns {', '.join(twice)}: rename one")
