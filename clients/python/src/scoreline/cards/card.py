"""What every library's card becomes before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..errors import CardError, ask, refuse

#: Fractions that people write: 1/19, 1/60, 3/200.
_DENOMINATOR_MAX = 10_000


@dataclass(frozen=True)
class Scored:
    """What a library gave to applicants.

    Attributes:
        scores: one for each applicant.
        points: by feature, one for each applicant; empty where the library does not say.
        pds: probabilities of default; None where the library does not know them.

    """

    scores: Sequence[float]
    points: Mapping[str, Sequence[float]] = field(default_factory=dict)
    pds: Sequence[float] | None = None


@dataclass(frozen=True)
class FittedCard:
    """A card, ready to be imported.

    Attributes:
        tool: name of the library, as the service calls it.
        table: the card as JSON can hold it, with all bits of its points.
        features: columns that the card reads, in the order in which it adds them.
        options: further fields of the import: scale, splits, special codes.
        score: scores a frame with the library itself. Its index is 0, 1, 2 and so on.
        notes: what was done to read the card, for the report.

    """

    tool: str
    table: Any
    features: tuple[str, ...]
    options: Mapping[str, Any]
    score: Callable[[Any], Scored]
    notes: tuple[str, ...] = ()


class Words:
    """What the caller says about a card, in the words of its library."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = dict(said)

    def take(self, name: str) -> Any:
        """Take a word; None if it was not said."""
        return self._said.pop(name, None)

    def end(self, library: str, known: Sequence[str]) -> None:
        """Refuse the words that nobody took.

        Raises:
            CardError: naming those that this library has.

        """
        if not self._said:
            return
        has = ", ".join(known) or "none, because the fitted object holds everything"
        raise CardError(
            f"{library} has no such word",
            code="card_question",
            details=[
                {"path": name, "message": f"is not a word of {library}; it has: {has}"}
                for name in self._said
            ],
        )


@dataclass(frozen=True)
class Scale:
    """What turns scores into odds.

    Attributes:
        pdo: points that double the odds.
        base_score: score at which the odds are `odds`.
        odds: in the direction that the library has.
        direction: `good:bad` or `bad:good`, if the class 1 is the bad one.
        rate: factor of the odds for `pdo` points.

    """

    pdo: float
    base_score: float
    odds: float
    direction: str
    rate: float = 2.0

    def fields(self, bad: int) -> dict[str, Any]:
        """Write it for the service.

        Args:
            bad: the class of the target that is bad. If it is 0, all odds turn over: a higher
                score is then a higher risk.

        """
        turned = {"good:bad": "bad:good", "bad:good": "good:bad"}[self.direction]
        fields: dict[str, Any] = {
            "pdo": float(self.pdo) if bad == 1 else -float(self.pdo),
            "base_score": float(self.base_score),
            "odds": odds_text(self.odds),
            "odds_direction": self.direction if bad == 1 else turned,
        }
        if self.rate != 2:
            fields["rate"] = float(self.rate)
        return fields


def odds_text(odds: float) -> float | str:
    """Write odds such as 1/19 as the fraction that they are, so that nothing is rounded twice."""
    value = float(odds)
    if not 0 < value < 1:
        return value
    close = Fraction(value).limit_denominator(_DENOMINATOR_MAX)
    is_same = close.numerator / close.denominator == value
    return f"{close.numerator}/{close.denominator}" if is_same else value


def take_bad(words: Words) -> int:
    """Read which class of the target is bad: 1 if nobody says so."""
    bad = words.take("bad")
    if bad in (None, 0, 1):
        return 1 if bad is None else int(bad)
    raise ask("bad", "is the class of the target that means bad: 1, or 0")


def joined(groups: Sequence[Sequence[str]], delimiter: str, feature: str) -> list[str]:
    """List the categories that a joined label can't be split at.

    Args:
        groups: categories of each bin of the feature.
        delimiter: the text that the library writes between categories.
        feature: its name.

    Raises:
        CardError: where even with this list a label reads as other categories.

    """
    commas = sorted({text for group in groups for text in group if delimiter.strip() in text})
    for group in groups:
        if _split(delimiter.join(group), delimiter, commas) != list(group):
            raise ask(
                feature,
                f"has a bin whose label {delimiter.join(group)!r} can be read in two ways: rename "
                "the category that contains a comma",
            )
    return commas


def _split(label: str, delimiter: str, known: Sequence[str]) -> list[str]:
    """Split a label as the service does: the longest known category first."""
    parts: list[str] = []
    at = 0
    while at <= len(label):
        ends = (at + len(text) for text in known if label.startswith(text, at))
        whole = [end for end in ends if end == len(label) or label.startswith(delimiter, end)]
        found = label.find(delimiter, at)
        end = max(whole) if whole else (found if found >= 0 else len(label))
        parts.append(label[at:end])
        if end == len(label):
            break
        at = end + len(delimiter)
    return parts


def cell(value: Any) -> Any:
    """Convert one value of a table: numbers of numpy to numbers, NaN to None."""
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    return None if value != value else value


def floats(values: Any) -> list[float]:
    """Convert an array or a column to floats of Python, which keep all bits.

    Raises:
        ValueRefused: for what is no list of numbers.

    """
    try:
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        return [float(value) for value in listed]
    except (TypeError, ValueError) as error:
        raise refuse(f"scores and probabilities are numbers, one an applicant: {error}") from None
