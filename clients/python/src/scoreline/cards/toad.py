"""Cards of toad: rules with exact splits, groups and scores."""

from __future__ import annotations

from typing import Any

from ..errors import ask
from .card import FittedCard, Scale, Scored, Words, floats, joined, take_bad

_ELSE = "else"


def read_toad(card: Any, words: Words) -> FittedCard:
    """Read a `toad.ScoreCard`.

    Its `export` rounds the scores; its rules have all bits.

    Raises:
        CardError: for a card that is neither fitted nor loaded.

    """
    rules = getattr(card, "rules", None)
    if not rules:
        raise ask("card", "is not fitted: call fit() or load() of the ScoreCard first")
    bad = take_bad(words)
    words.end("toad", ("bad",))
    features = tuple(str(name) for name in rules)
    rows: list[dict[str, Any]] = []
    commas: set[str] = set()
    categorical: list[str] = []
    for name in features:
        bins = rules[name]["bins"]
        scores = floats(rules[name]["scores"])
        if _is_text(bins):
            categorical.append(name)
            groups = [[str(text) for text in group] for group in bins if not _is_else(group)]
            commas.update(joined(groups, ",", name))
        labels = [str(label) for label in card.format_bins(bins)]
        if len(labels) != len(scores):
            raise ask(name, f"has {len(labels)} bins and {len(scores)} scores")
        rows += [
            {"name": name, "value": label, "score": score}
            for label, score in zip(labels, scores, strict=True)
        ]
    scale = Scale(
        pdo=card.pdo,
        base_score=card.base_score,
        odds=card.base_odds,
        direction="good:bad",
        rate=card.rate,
    )
    return FittedCard(
        tool="toad",
        table=rows,
        features=features,
        options={
            # `predict` of toad has default="min" for what no bin names.
            "unseen": "min",
            "scaling": scale.fields(bad),
            "comma_categories": sorted(commas),
            **({"categorical": categorical} if categorical else {}),
        },
        score=lambda frame: _score(card, frame, features, bad),
    )


def _is_text(bins: Any) -> bool:
    """Whether the bins are groups of texts, as toad itself decides: by the type of the array."""
    return str(bins.dtype.kind) not in "iuf"


def _is_else(group: Any) -> bool:
    return isinstance(group, str) and str(group) == _ELSE


def _score(card: Any, frame: Any, features: tuple[str, ...], bad: int) -> Scored:
    scores, by_feature = card.predict(frame, return_sub=True)
    return Scored(
        scores=floats(scores),
        points={name: floats(by_feature[name]) for name in features},
        pds=floats(card.predict_proba(frame)[:, bad]),
    )
