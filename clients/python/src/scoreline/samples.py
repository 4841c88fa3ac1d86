"""Applicants with the scores of a library, as lines of JSON that a card is checked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .cards.card import Scored
from .errors import refuse
from .values import Flags, column, encode

_SCORE = "score"
_PD = "pd"
#: Rows that are converted at a time.
_PORTION_ROWS = 10_000


class Sample:
    """Applicants with what a library gave them.

    They are converted a portion at a time: a frame can be larger than the memory for its JSON.
    """

    def __init__(
        self,
        frame: Any,
        columns: Mapping[str, Any],
        known: Mapping[str, Sequence[float]],
        flags: Mapping[str, Flags],
    ) -> None:
        """Take applicants.

        Args:
            frame: applicants.
            columns: the columns of the frame that are sent, by the names that they get.
            known: further columns by their names, with a number for each applicant.
            flags: what features read for False and True, by the columns of the frame.

        """
        self._frame = frame
        self._columns = columns
        self._known = known
        self._flags = flags

    def __len__(self) -> int:
        return len(self._frame)

    def known(self, name: str) -> Sequence[float] | None:
        """Return a column of numbers that the library gave; None where it gave none."""
        return self._known.get(name)

    def portions(self) -> Iterator[tuple[int, bytes]]:
        """Write an array of names, then one of values for each applicant.

        The values are those of a request to score: CSV could not tell an empty text from a missing
        value, nor the code 2.0 from the text.

        Returns:
            Portions, each with its number of applicants.

        """
        yield 0, encode([*self._columns, *self._known]) + b"\n"
        rows = len(self._frame)
        for start in range(0, rows, _PORTION_ROWS):
            stop = min(rows, start + _PORTION_ROWS)
            lists: list[Sequence[Any]] = [
                column(self._frame, name, start, stop, self._flags.get(name))
                for name in self._columns.values()
            ]
            lists += [
                [_number(value) for value in values[start:stop]] for values in self._known.values()
            ]
            lines = [encode(row) for row in zip(*lists, strict=True)]
            yield stop - start, b"\n".join([*lines, b""])

    def text(self, bytes_max: int) -> str | None:
        """Return all lines; None if they are longer."""
        portions: list[bytes] = []
        size = 0
        for _, portion in self.portions():
            portions.append(portion)
            size += len(portion)
            if size > bytes_max:
                return None
        return b"".join(portions).decode()


def sample_fields(
    frame: Any,
    features: Sequence[str],
    scored: Scored,
    names: Mapping[str, str],
    flags: Mapping[str, Flags],
) -> dict[str, Any]:
    """Make the fields `sample`, a `Sample`, and, if a feature is called `score`, `score_column`.

    Args:
        frame: applicants, with a column for each feature.
        features: the columns to write.
        scored: what the library gave them.
        names: new names of features.
        flags: what features read for False and True.

    Raises:
        ValueRefused: for names that the service can't tell apart.

    """
    rows = len(frame)
    for values, what in ((scored.scores, "scores"), (scored.pds, "pds")):
        if values is not None and len(values) != rows:
            raise refuse(f"{what} has {len(values)} values for {rows} applicants")
    called = [names.get(name, name) for name in features]
    score = _free_name(_SCORE, called)
    columns = dict(zip(called, features, strict=True))
    known: dict[str, Sequence[float]] = {score: scored.scores}
    if scored.pds is not None:
        if _PD in called:
            raise refuse("a feature is called 'pd', which names the probability: rename it")
        known[_PD] = scored.pds
    for name, points in scored.points.items():
        new = f"{names.get(name, name)}_points"
        if new not in columns and new not in known:
            known[new] = points
    fields: dict[str, Any] = {"sample": Sample(frame, columns, known, flags)}
    if score != _SCORE:
        fields["score_column"] = score
    return fields


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"library_{name}"
    return name


def _number(value: Any) -> float | None:
    """Convert a number of a library; None for one that is not a number."""
    number = float(value)
    return None if number != number else number
