"""Values of a frame as the service takes them: numbers, texts, and null for what is missing."""

from __future__ import annotations

import datetime
import json
import math
import numbers
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from .errors import ValueRefused, refuse

#: Above it, doubles skip whole numbers.
INTEGER_MAX = 2**53
#: The same for floating-point numbers of fewer bits.
_WHOLE_MAX = {"float32": 2**24, "float16": 2**11}
_MISSING_TYPES = ("NAType", "NaTType")
_NUMPY_TIMES = ("datetime64", "timedelta64")


def _number_of(value: Any) -> Any:
    """Write a number of numpy, which JSON does not know, as one of Python."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"a value of the type {type(value).__name__} can't be sent")


_ENCODER = json.JSONEncoder(
    allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_number_of
)


#: What a card reads for False and for True.
Flags = tuple[int | str, int | str]
_FLAGS: Sequence[Flags] = (("False", "True"), ("false", "true"), ("FALSE", "TRUE"), (0, 1))


def flags_of(texts: Iterable[str], *, is_numeric: bool) -> Flags | None:
    """Find out what a feature reads for False and True.

    Args:
        texts: categories that it knows.
        is_numeric: whether it reads numbers.

    """
    if is_numeric:
        return (0, 1)
    known = set(texts)
    return next((pair for pair in _FLAGS if known & set(map(str, pair))), None)


class PolarsFrame(Protocol):
    """A frame of polars."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return its rows."""


class ArrowTable(Protocol):
    """A table of Arrow."""

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return its columns."""


def frame_from(data: Any) -> Any:
    """Make a frame of pandas of one of polars, or of a table of Arrow; others stay as they are.

    All values stay the objects that they are in Python, so that no number is rounded.
    """
    if hasattr(data, "to_pydict"):
        columns = data.to_pydict()
    elif hasattr(data, "to_dicts") and hasattr(data, "columns"):
        columns = data.to_dict(as_series=False)
    else:
        return data
    import pandas

    return pandas.DataFrame(columns, dtype=object)


def applicant_from(data: Any) -> Any:
    """Make a mapping of one row of a frame, as `df.iloc[0]` is; others stay as they are."""
    is_row = hasattr(data, "iloc") and not hasattr(data, "columns")
    return data.to_dict() if is_row else data


def mappings_from(data: Any, what: str) -> Iterator[Mapping[Any, Any]]:
    """Go through mappings, or rows of a frame.

    Raises:
        ValueRefused: for anything else; `what` names one of them.

    """
    try:
        each = iter(data)
    except TypeError:
        raise refuse(f"{what}s are mappings or a frame, not {type(data).__name__}") from None
    for at, one in enumerate(each):
        if not (hasattr(one, "keys") and hasattr(one, "__getitem__")):
            raise refuse(f"{what} {at} is no mapping, but {type(one).__name__}")
        yield one


def is_frame(data: object) -> bool:
    """Whether an object is a frame of pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def plain(
    value: Any, where: str = "the value", flags: Flags | None = None
) -> float | int | str | None:
    """Convert a value of pandas, numpy or Python to a number, a text, or None.

    None, NaN, NA and NaT are missing. Numbers keep all of their bits; a Decimal becomes the nearest
    double. A member of an Enum of texts or numbers is its value.

    Args:
        value: one cell.
        where: names the cell in an error.
        flags: what a card reads for False and True; without it, booleans are refused.

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
        if flags is not None:
            return flags[int(value)]
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


_BADS = {"bad": True, "good": False, "1": True, "0": False}


def bad_of(value: Any) -> bool | None:
    """Read an outcome: 1 or `bad`, 0 or `good`; None where none is known."""
    if isinstance(value, bool):
        return value
    text = reference_text(value, "the outcome")
    if text is None:
        return None
    if text not in _BADS:
        raise refuse(f"the outcome {value!r} is neither 1 or bad, nor 0 or good")
    return _BADS[text]


def row_names(index: Any, start: int, stop: int) -> Iterator[str]:
    """Name rows by their labels, and by their positions, too, where several have one label."""
    is_unique = index.is_unique
    for at, label in enumerate(index[start:stop].tolist(), start):
        yield f"row {label!r}" if is_unique else f"row {label!r} (position {at})"


def references(frame: Any, name: Any, span: tuple[int, int]) -> list[str | None]:
    """Write the references of a part of a frame; None where there is none."""
    part = frame[name].iloc[slice(*span)]
    whole_max = _WHOLE_MAX.get(str(part.dtype).lower(), INTEGER_MAX)
    return [
        reference_text(value, f"{name!r} of {row}", whole_max)
        for row, value in zip(row_names(frame.index, *span), part.tolist(), strict=True)
    ]


def column(
    frame: Any, name: Any, start: int, stop: int, flags: Flags | None = None
) -> list[float | int | str | None]:
    """Convert a part of a column.

    Raises:
        ValueRefused: its details name the row and the column.

    """
    part = frame[name].iloc[start:stop]
    values = part.tolist()
    try:
        return [plain(value, flags=flags) for value in values]
    except ValueRefused:
        # Slower, and it names the row.
        label, error = next(
            (label, refused)
            for label, row, value in zip(
                part.index.tolist(), row_names(frame.index, start, stop), values, strict=True
            )
            if (refused := _refusal(value, f"{name!r} of {row}", flags)) is not None
        )
        error.details = ({"row": label, "path": str(name), "message": "can't be sent"},)
        raise error from None


def _refusal(value: Any, where: str, flags: Flags | None) -> ValueRefused | None:
    try:
        plain(value, where, flags)
    except ValueRefused as error:
        return error
    return None


def look_at(
    frame: Any, columns: Sequence[str], flags: Mapping[str, Flags], numeric: Container[str] = ()
) -> None:
    """Refuse a frame with a value that can't be sent, before anything is.

    Args:
        frame: applicants.
        columns: those that are sent.
        flags: what features read for False and True.
        numeric: features that read numbers only.

    Raises:
        ValueRefused: naming the first row and its column, or a column of numbers that are texts.

    """
    rows = len(frame)
    for name in columns:
        kind = str(getattr(frame[name], "dtype", ""))
        # What numpy holds as numbers is fit to be sent if its ends are.
        is_number = kind.startswith(("float", "int", "uint")) and rows > 0
        if is_number and _is_fit(frame[name].min()) and _is_fit(frame[name].max()):
            continue
        for start in range(0, rows, _LOOKED_ROWS):
            column(frame, name, start, min(rows, start + _LOOKED_ROWS), flags.get(name))
        texts = frame[name].dropna()
        if name in numeric and len(texts) and all(isinstance(value, str) for value in texts):
            raise refuse(
                f"the column {name!r} holds texts, such as {texts.iloc[0]!r}, and the deployment "
                "reads numbers: convert it, as with pd.to_numeric(…)"
            )


def _is_fit(end: Any) -> bool:
    if isinstance(end, numbers.Integral):
        return abs(int(end)) <= INTEGER_MAX
    return not math.isinf(float(end))


#: Rows that are looked at at a time.
_LOOKED_ROWS = 100_000


def records(
    frame: Any,
    columns: Sequence[str],
    span: tuple[int, int],
    flags: Mapping[str, Flags] | None = None,
) -> list[dict[str, float | int | str | None]]:
    """Convert rows of a frame to records, in their order."""
    if not columns:
        return [{} for _ in range(*span)]
    lists = [column(frame, name, *span, (flags or {}).get(name)) for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def record(
    applicant: Mapping[str, Any], names: Iterable[str], at: str, flags: Mapping[str, Flags]
) -> dict[str, Any]:
    """Convert one applicant who is given as a mapping."""
    return {
        str(name): plain(applicant[name], f"{name!r} of {at}", flags.get(name)) for name in names
    }


def encode(body: object) -> bytes:
    """Write JSON whose numbers read back to the same bits.

    Raises:
        ValueRefused: for what JSON can't hold, naming the field.

    """
    try:
        text = _ENCODER.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse(_unsendable(body, error)) from None
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise refuse("a text holds half of a character (a lone surrogate): correct it") from error


def _unsendable(body: object, error: Exception) -> str:
    """Say which field of a request JSON can't hold."""
    names = (
        [name for name, value in body.items() if not _is_sendable(value)]
        if isinstance(body, Mapping)
        else []
    )
    return f"{str(names[0])!r} can't be sent: {error}" if names else f"this can't be sent: {error}"


def _is_sendable(value: object) -> bool:
    try:
        _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def whole(value: Any, said: str) -> int:
    """Read a whole number of Python or numpy.

    Raises:
        ValueRefused: for anything else, with what is said of it.

    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise refuse(said)
    return int(value)


def listed(values: Any, what: str) -> list[Any]:
    """List what the caller gave as several.

    Raises:
        ValueRefused: for one text and for what is no list; `what` names the argument.

    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise refuse(f"{what} is a list, and not {type(values).__name__}: write [{values!r}]")
    return [*values]


def path_of(value: Any, what: str) -> Path:
    """Read the name of a file.

    Raises:
        ValueRefused: for what names none.

    """
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise refuse(f"{what} is the name of a file, and not {value!r}")
    return Path(value)


def require_columns(frame: Any, wanted: Iterable[str], of: str) -> None:
    """Refuse a frame that lacks columns.

    Raises:
        ValueRefused: naming every wanted column that is not there, or is there twice.

    """
    names = list(frame.columns)
    wanted = list(wanted)
    absent = [name for name in wanted if name not in names]
    if absent:
        listed = ", ".join(map(repr, absent))
        raise refuse(f"the frame has no column {listed}, which {of} needs")
    twice = sorted({str(name) for name in wanted if names.count(name) > 1})
    if twice:
        raise refuse(f"the frame has two columns {', '.join(twice)}: rename one")
