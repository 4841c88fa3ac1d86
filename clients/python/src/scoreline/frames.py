"""Answers of the service as frames of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

_MOMENTS = ("from", "to", "at")
#: What names a row of a list, for the rows of the lists inside it.
_NAMES = ("name", "feature", "index", "model_id", "grade", "code", "cutoff", "from")


class Frames(dict[str, "DataFrame"]):
    """Named frames of one answer; each is an attribute, too."""

    def __getattr__(self, name: str) -> DataFrame:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self) or "none"
            raise AttributeError(f"there is no frame {name!r}; there are: {known}") from None

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}\n{frame!r}" for name, frame in self.items())

    def _repr_html_(self) -> str:
        parts = (f"<h4>{name}</h4>{frame.to_html()}" for name, frame in self.items())
        return "".join(parts)


def pandas() -> Any:
    """Load pandas.

    Raises:
        ImportError: saying how to install it.

    """
    try:
        import pandas
    except ImportError:
        raise ImportError("this method returns frames: pip install pandas") from None
    return pandas


def frame_of(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
    index: Any = None,
) -> DataFrame:
    """Make a frame of rows; times become timestamps in UTC."""
    pd = pandas()
    listed = list(rows)
    frame = pd.DataFrame(listed, columns=columns, index=index)
    for name in list(frame.columns):
        if (str(name).endswith("_at") or name in _MOMENTS) and _holds_text(frame[name]):
            frame[name] = pd.to_datetime(frame[name], utc=True)
    return frame  # type: ignore[no-any-return]


def _holds_text(series: Any) -> bool:
    return any(isinstance(value, str) for value in series)


def frames_of(answer: Mapping[str, Any]) -> Frames:
    """Make frames of an answer.

    Its single values are the one row of `summary`, with the names of objects in front of theirs.
    Each list of objects is a frame by its name; a list inside of another names the row that it is
    from.
    """
    tables: dict[str, list[dict[str, Any]]] = {"summary": [{}]}
    _fill(tables, tables["summary"][0], answer, prefix="", path="", origin={})
    return Frames({name: frame_of(rows) for name, rows in tables.items()})


def _fill(
    tables: dict[str, list[dict[str, Any]]],
    row: dict[str, Any],
    value: Mapping[str, Any],
    *,
    prefix: str,
    path: str,
    origin: Mapping[str, Any],
) -> None:
    for key, item in value.items():
        below = f"{path}.{key}"
        if isinstance(item, Mapping):
            inner = "" if key == "summary" else f"{prefix}{key}_"
            _fill(tables, row, item, prefix=inner, path=below, origin=origin)
        elif isinstance(item, list) and item and all(isinstance(one, Mapping) for one in item):
            _add_rows(tables, _table_name(tables, below, origin), item, below, origin)
        elif isinstance(item, list):
            if item:
                row[prefix + key] = ", ".join(map(str, item))
            elif not origin:
                tables.setdefault(key, [])
        else:
            row[prefix + key] = item


def _table_name(tables: Mapping[str, Any], path: str, origin: Mapping[str, Any]) -> str:
    """The last part of the path, with the parts before it if another list has that name."""
    parts = path.strip(".").split(".")
    if origin and parts[-1] in tables and len(parts) > 1:
        rows = tables[parts[-1]]
        if rows and not set(origin) <= set(rows[0]):
            return "_".join(parts[-2:])
    return parts[-1]


def _add_rows(
    tables: dict[str, list[dict[str, Any]]],
    name: str,
    items: Sequence[Mapping[str, Any]],
    path: str,
    origin: Mapping[str, Any],
) -> None:
    table = tables.setdefault(name, [])
    for item in items:
        row: dict[str, Any] = dict(origin)
        table.append(row)
        named = next((key for key in _NAMES if item.get(key) is not None), None)
        singular = name[:-1] if name.endswith("s") else name
        inner = dict(origin)
        if named is not None:
            called = {"name": singular, "index": f"{singular}_index"}.get(named, named)
            inner[called] = item[named]
        _fill(tables, row, item, prefix="", path=path, origin=inner)
