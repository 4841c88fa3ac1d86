"""Fitted cards of scorecard libraries, read as exactly as they compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ask
from ..values import is_frame
from .card import FittedCard, Words
from .optbinning import read_optbinning
from .scorecardpy import read_scorecardpy
from .skorecard import read_skorecard, repaired
from .toad import read_toad

__all__ = ["FittedCard", "is_specification", "read_card", "repaired"]

_READERS: Mapping[str, Callable[[Any, Words], FittedCard]] = {
    "optbinning": read_optbinning,
    "toad": read_toad,
    "skorecard": read_skorecard,
}


def read_card(card: Any, words: Words) -> FittedCard:
    """Read a fitted card.

    Args:
        card: the dict of `scorecardpy.scorecard`, or its frames in one; an
            `optbinning.Scorecard`; a `toad.ScoreCard`; the `ScoreCardPoints` of skorecard, or a
            `Skorecard` with `pdo`, `ref_score` and `ref_odds`.
        words: what the caller says in the words of the library.

    Raises:
        CardError: for anything else, for what the card lacks, and for words that the library of
            the card does not have.

    """
    reader = read_scorecardpy if _is_scorecardpy(card) else _READERS.get(_package_of(card))
    if reader is None:
        raise ask(
            "card",
            f"is of the type {type(card).__module__}.{type(card).__qualname__}; it can be what "
            "scorecardpy.scorecard returns, an optbinning.Scorecard, a toad.ScoreCard, a "
            "skorecard.rescale.ScoreCardPoints, or a specification of Scoreline as a dict",
        )
    return reader(card, words)


def is_specification(card: Any) -> bool:
    """Whether a card is a specification of Scoreline, and not the object of a library."""
    return isinstance(card, Mapping) and isinstance(card.get("features"), list)


def _package_of(card: object) -> str:
    """The package of an object's class, or of the class that it inherits from."""
    packages = (kind.__module__.split(".")[0] for kind in type(card).__mro__)
    return next((name for name in packages if name in _READERS), "")


def _is_scorecardpy(card: Any) -> bool:
    if isinstance(card, Mapping):
        return bool(card) and all(is_frame(part) for part in card.values())
    return is_frame(card) and {"variable", "bin", "points"} <= set(card.columns)
