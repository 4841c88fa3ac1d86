"""What a card gives to applicants, computed here: the same bins and bits as the service gives."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from .values import Flags, flags_of

Value = float | int | str | None
#: A bin by its position in the card, -1 for none, and its points.
Found = tuple[int, float]

_RANGE = re.compile(r"\s*([(\[])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([)\]])\s*")
_MISSING = "Missing"
_CATEGORIES = "%,%"
_NONE: Found = (-1, 0.0)
#: From here on, and below the other one, numbers are written with an exponent.
_DIGITS_MAX = 21
_ZEROS_MAX = 6


class Card:
    """A specification that scores."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.base_points = float(spec["base_points"])
        self._finders = {
            str(feature["name"]): _finder(feature["type"], feature["bins"])
            for feature in spec["features"]
        }
        self._scaling: Mapping[str, Any] | None = (
            None if spec.get("has_pd") is False else spec.get("scaling")
        )

    @property
    def features(self) -> tuple[str, ...]:
        """Features, in the order in which their points are added."""
        return tuple(self._finders)

    def find(self, feature: str, values: Sequence[Value]) -> list[Found]:
        """Find the bin of each value of a feature."""
        return [*map(self._finders[feature], values)]

    def scores(self, found: Mapping[str, Sequence[Found]], count: int) -> list[float]:
        """Add up the points of so many applicants, in the order of the card."""
        totals = [self.base_points] * count
        for feature in self._finders:
            for row, (_, points) in enumerate(found[feature]):
                totals[row] += points
        return totals

    def pd(self, score: float) -> float | None:
        """Return the probability of default at a score; None for a card without a scale."""
        if self._scaling is None:
            return None
        factor = self._scaling["pdo"] / math.log(2)
        offset = self._scaling["base_score"] - factor * math.log(self._scaling["base_odds"])
        exponent = (score - offset) / factor
        if exponent >= 0:
            small = math.exp(-exponent)
            return small / (1 + small)
        return 1 / (1 + math.exp(exponent))


def spec_flags(spec: Mapping[str, Any]) -> dict[str, Flags]:
    """What the features of a specification read for False and True, where they read booleans."""
    found = {}
    for feature in spec["features"]:
        is_numeric = feature["type"] == "numeric"
        texts = [] if is_numeric else _texts(feature["bins"])
        found[str(feature["name"])] = flags_of(texts, is_numeric=is_numeric)
    return {name: known for name, known in found.items() if known is not None}


def _texts(bins: Sequence[Mapping[str, Any]]) -> list[str]:
    return [text for one in bins for text in str(one["value"]).split(_CATEGORIES)]


def _finder(kind: str, bins: Sequence[Mapping[str, Any]]) -> Callable[[Value], Found]:
    label = "range" if kind == "numeric" else "value"
    missing = next(
        ((at, float(one["points"])) for at, one in enumerate(bins) if one[label] == _MISSING),
        _NONE,
    )
    others = [(at, one) for at, one in enumerate(bins) if one[label] != _MISSING]
    if kind == "numeric":
        return _numeric(others, missing)
    return _categorical(others, missing)


def _numeric(
    bins: Sequence[tuple[int, Mapping[str, Any]]], missing: Found
) -> Callable[[Value], Found]:
    intervals = sorted((*_closed(one["range"]), at, float(one["points"])) for at, one in bins)
    lows = [low for low, _, _, _ in intervals]

    def find(value: Value) -> Found:
        if value is None:
            return missing
        if isinstance(value, str):
            return _NONE
        place = bisect_right(lows, value) - 1
        if place < 0 or value > intervals[place][1]:
            return _NONE
        return intervals[place][2:]

    return find


def _categorical(
    bins: Sequence[tuple[int, Mapping[str, Any]]], missing: Found
) -> Callable[[Value], Found]:
    known = {
        text: (at, float(one["points"]))
        for at, one in bins
        for text in str(one["value"]).split(_CATEGORIES)
    }

    def find(value: Value) -> Found:
        if value is None:
            return missing
        return known.get(value if isinstance(value, str) else number_text(value), missing)

    return find


def _closed(text: str) -> tuple[float, float]:
    """Read a range as the smallest and the largest double in it."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no range")
    left, low, high, right = match[1], float(match[2]), float(match[3]), match[4]
    if left == "(" and low != -math.inf:
        low = math.nextafter(low, math.inf)
    if right == ")" and high != math.inf:
        high = math.nextafter(high, -math.inf)
    return low, high


def number_text(value: float | int) -> str:
    """Write a number as the service compares it with categories: 3.0 as 3."""
    number = float(value)
    if number == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    if len(text) <= point <= _DIGITS_MAX:
        written = text + "0" * (point - len(text))
    elif 0 < point <= _DIGITS_MAX:
        written = f"{text[:point]}.{text[point:]}"
    elif -_ZEROS_MAX < point <= 0:
        written = f"0.{'0' * -point}{text}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        written = f"{text[0]}{fraction}e{point - 1:+d}"
    return f"-{written}" if sign else written
