"""Applicants with the scores of a library, as the CSV that the service checks a card with."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from .cards.card import Scored
from .errors import refuse
from .values import column

#: In the order in which the service prefers them.
_DELIMITERS = (",", ";", "\t", "|")
_SCORE = "score"
_PD = "pd"


def sample_fields(
    frame: Any, features: Sequence[str], scored: Scored, names: Mapping[str, str]
) -> dict[str, str]:
    """Write the fields `sample` and, if a feature is called `score`, `score_column`.

    Args:
        frame: applicants, with a column for each feature.
        features: the columns to write.
        scored: what the library gave them.
        names: new names of features.

    Raises:
        ValueRefused: for values that the service doesn't take, and names that it can't tell apart.

    """
    rows = len(frame)
    for values, what in ((scored.scores, "scores"), (scored.pds, "pds")):
        if values is not None and len(values) != rows:
            raise refuse(f"{what} has {len(values)} values for {rows} applicants")
    called = [names.get(name, name) for name in features]
    score = _free_name(_SCORE, called)
    columns: dict[str, Sequence[Any]] = {}
    for name, new in zip(features, called, strict=True):
        columns[new] = column(frame, name, 0, rows)
    columns[score] = [_number(value) for value in scored.scores]
    if scored.pds is not None:
        if _PD in called:
            raise refuse("a feature is called 'pd', which names the probability: rename it")
        columns[_PD] = [_number(value) for value in scored.pds]
    for name, points in scored.points.items():
        new = f"{names.get(name, name)}_points"
        if new not in columns:
            columns[new] = [_number(value) for value in points]
    fields = {"sample": _csv(columns)}
    if score != _SCORE:
        fields["score_column"] = score
    return fields


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"library_{name}"
    return name


def _number(value: Any) -> str:
    """A double as the text that reads back to it; nothing for one that is not a number."""
    number = float(value)
    return "" if number != number else repr(number)


def _csv(columns: Mapping[str, Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=_delimiter(list(columns)), lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _delimiter(names: Sequence[str]) -> str:
    """The delimiter that the service will find: the most frequent one of the first line.

    With one more between all names, the one that the names hold most often stays ahead.
    """
    text = "".join(names)
    return max(_DELIMITERS, key=text.count)
