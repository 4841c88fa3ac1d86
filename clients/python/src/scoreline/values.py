"""Values of a frame as the service takes them: numbers, texts, and null for what is missing."""

from __future__ import annotations

import datetime
import json
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

from .errors import ValueRefused, refuse

#: Above it, doubles skip whole numbers.
INTEGER_MAX = 2**53
#: The same for floating-point numbers of fewer bits.
_WHOLE_MAX = {"float32": 2**24, "float16": 2**11}
_MISSING_TYPES = ("NAType", "NaTType")
_NUMPY_TIMES = ("datetime64", "timedelta64")
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def is_frame(data: object) -> bool:
    """Whether an object is a frame of pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def plain(value: Any, where: str = "the value") -> float | int | str | None:
    """Convert a value of pandas, numpy or Python to a number, a text, or None.

    None, NaN, NA and NaT are missing. Numbers keep all of their bits; a Decimal becomes the nearest
    double. A member of an Enum of texts or numbers is its value.

    Args:
        value: one cell.
        where: names the cell in an error.

    Raises:
        ValueRefused: booleans, dates, infinite numbers, whole numbers beyond 2**53, and all other
            types.

    """
    kind = type(value)
    if value is None or kind.__name__ in _MISSING_TYPES:
        return None
    if isinstance(value, str):
        # str() of an Enum is its name, and not its text.
        return value if kind is str else str.__str__(value)
    if isinstance(value, bool) or kind.__name__ in ("bool", "bool_"):
        raise refuse(
            f"{where} is a boolean ({kind.__name__}), and the service takes numbers and texts: "
            "convert the column as the card was fitted, with .astype(int) or .astype(str)"
        )
    if isinstance(value, numbers.Integral):
        whole = int(value)
        if abs(whole) > INTEGER_MAX:
            raise refuse(f"{where} is {whole}, which a double can't hold: send it as a text")
        return whole
    if isinstance(value, numbers.Real | Decimal):
        return _double(value, where)
    if kind.__name__ in _NUMPY_TIMES and value != value:
        return None
    raise refuse(_unfit(value, where))


def _double(value: Any, where: str) -> float | None:
    if isinstance(value, Decimal) and value.is_nan():
        return None
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise refuse(f"{where} is {value}: the service takes finite numbers only")
    return number


def _unfit(value: Any, where: str) -> str:
    """Say why a value is neither a number nor a text, and what to do."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    is_time = isinstance(value, datetime.date | datetime.time | datetime.timedelta)
    if is_time or kind.__name__ in (*_NUMPY_TIMES, "Period"):
        return f"{where} is a date or time ({name}): send what the card was fitted on"
    if isinstance(value, Enum):
        return f"{where} is a member of an Enum ({name}): send its .value"
    return f"{where} is of the type {name}: the service takes numbers and texts"


def reference_text(
    value: Any, where: str = "the reference", whole_max: int = INTEGER_MAX
) -> str | None:
    """Write the number of an application as the text by which the service knows it.

    The whole numbers 1001 and 1001.0 are both `1001`: a column of whole numbers with an empty cell
    has the type float in pandas. None, NaN, NA, NaT and an empty text are no reference.

    Args:
        value: a text or a number.
        where: names the cell in an error.
        whole_max: from here on, a floating-point number may have lost its last digits.

    Raises:
        ValueRefused: for a floating-point number that names no application for certain, and for
            what `plain` refuses.

    """
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return str(int(value))
    known = plain(value, where)
    if isinstance(known, str):
        return known or None
    if known is None:
        return None
    if not float(known).is_integer():
        raise refuse(
            f"{where} is {known!r} ({type(value).__name__}), a number with a fraction, which can "
            "be written in several ways: send references as texts"
        )
    limit = _WHOLE_MAX.get(type(value).__name__, whole_max)
    if abs(known) >= limit:
        raise refuse(
            f"{where} is {known!r} ({type(value).__name__}), and a floating-point number of this "
            "size may have lost its last digits: read the column as texts, with dtype=str"
        )
    return str(int(known))


def references(frame: Any, name: Any, span: tuple[int, int]) -> list[str | None]:
    """Write the references of a part of a frame; None where there is none."""
    part = frame[name].iloc[slice(*span)]
    whole_max = _WHOLE_MAX.get(str(part.dtype).lower(), INTEGER_MAX)
    return [
        reference_text(value, f"{name!r} of row {label!r}", whole_max)
        for label, value in zip(part.index, part.tolist(), strict=True)
    ]


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
    if not columns:
        return [{} for _ in range(*span)]
    lists = [column(frame, name, *span) for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def record(applicant: Mapping[str, Any], names: Iterable[str], at: str) -> dict[str, Any]:
    """Convert one applicant who is given as a mapping."""
    return {str(name): plain(applicant[name], f"{name!r} of {at}") for name in names}


def encode(body: object) -> bytes:
    """Write JSON whose numbers read back to the same bits."""
    text = _ENCODER.encode(body)
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
