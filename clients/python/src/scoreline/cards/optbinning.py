"""Cards of optbinning: the table, with exact splits and special codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ask
from .card import FittedCard, Scale, Scored, Words, cell, floats, take_bad


def read_optbinning(card: Any, words: Words) -> FittedCard:
    """Read an `optbinning.Scorecard`.

    The table prints its bounds rounded; the fitted variables have them exactly, with the special
    codes, the categories of each bin and the intercept.

    Raises:
        CardError: for a card that is not fitted, and for a continuous target.

    """
    process = getattr(card, "binning_process_", None)
    if process is None:
        raise ask("card", "is not fitted: call fit() of the Scorecard first")
    if getattr(card, "_target_dtype", "binary") != "binary":
        raise ask("card", "has a continuous target, and so no probability of default")
    bad = take_bad(words)
    words.end("optbinning", ("bad",))
    features = tuple(str(name) for name in process.get_support(names=True))
    options: dict[str, Any] = {
        # optbinning itself gives an unseen category the points of the row Missing.
        "unseen": "missing",
        "splits": {name: _variable(process.get_binned_variable(name)) for name in features},
        "intercept": float(getattr(card, "intercept_", 0) or 0),
    }
    categorical = [name for name, known in options["splits"].items() if _is_grouped(known)]
    if categorical:
        options["categorical"] = categorical
    scaling = _scaling(card, bad)
    if scaling is not None:
        options["scaling"] = scaling
    return FittedCard(
        tool="optbinning",
        table=_table(card),
        features=features,
        options=options,
        score=lambda frame: _score(card, frame, features, bad),
        notes=_notes(card),
    )


def _table(card: Any) -> list[dict[str, Any]]:
    table = card.table(style="summary")
    return [
        {"Variable": str(variable), "Bin": _label(label), "Points": cell(points)}
        for variable, label, points in zip(
            table["Variable"].tolist(),
            table["Bin"].tolist(),
            table["Points"].tolist(),
            strict=True,
        )
    ]


def _label(label: Any) -> str:
    """The text of a bin; that of categories is an array."""
    return label if isinstance(label, str) else str([str(text) for text in label])


def _variable(binned: Any) -> dict[str, Any]:
    """What a fitted variable knows beyond the table."""
    splits = [_split(split) for split in binned.splits]
    return {"splits": splits, "special_codes": _codes(binned.special_codes)}


def _split(split: Any) -> Any:
    if isinstance(split, str) or not hasattr(split, "__iter__"):
        return float(split)
    return [_category(text) for text in split]


def _category(value: Any) -> Any:
    value = cell(value)
    return str(value) if isinstance(value, bool) else value


def _is_grouped(known: Mapping[str, Any]) -> bool:
    return any(isinstance(split, list) for split in known["splits"])


def _codes(codes: Any) -> Any:
    if codes is None:
        return None
    if isinstance(codes, Mapping):
        return {str(name): _listed(values) for name, values in codes.items()}
    return _listed(codes)


def _listed(values: Any) -> list[Any]:
    is_one = isinstance(values, str) or not hasattr(values, "__iter__")
    return [_category(value) for value in ([values] if is_one else values)]


def _scaling(card: Any, bad: int) -> dict[str, Any] | None:
    """The scale of a card; None where only its probabilities can tell it."""
    if card.scaling_method != "pdo_odds" or getattr(card, "reverse_scorecard", False):
        return None
    params = card.scaling_method_params
    return Scale(
        pdo=params["pdo"],
        base_score=params["scorecard_points"],
        odds=params["odds"],
        direction="good:bad",
    ).fields(bad)


def _notes(card: Any) -> tuple[str, ...]:
    if getattr(card, "reverse_scorecard", False):
        return ("reverse_scorecard turns the points over, so `odds` of the card do not hold",)
    return ()


def _score(card: Any, frame: Any, features: tuple[str, ...], bad: int) -> Scored:
    points = {}
    if hasattr(card, "transform"):
        by_feature = card.transform(frame)
        points = {name: floats(by_feature[name]) for name in features}
    return Scored(
        scores=floats(card.score(frame)),
        points=points,
        pds=floats(card.predict_proba(frame)[:, bad]),
    )
