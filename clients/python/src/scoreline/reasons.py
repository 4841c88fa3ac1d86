"""Reasons of a card, made from the card and its sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import refuse
from .evaluation import Card, spec_flags
from .values import column

_LANGUAGE = "en"


@dataclass(frozen=True)
class Reason:
    """Why a feature lowers a score.

    Attributes:
        code: of the reason; several features may have one.
        text: what applicants read, in English, or by language.
        source: `consumer_report`, `application`, `internal` or `other`.
        actionable: whether an applicant can change it.

    """

    code: str
    text: str | Mapping[str, str]
    source: str | None = None
    actionable: bool | None = None


@dataclass(frozen=True)
class ReasonOrder:
    """The reasons of a card.

    Attributes:
        by_feature: of the features, by their columns; the others can't be a reason.
        cutoff: reasons compare with the sample from here to one pdo above it; with all of the
            sample when left out.

    """

    by_feature: Mapping[str, Reason]
    cutoff: float | None


def with_reasons(
    spec: Mapping[str, Any],
    order: ReasonOrder,
    rename: Mapping[str, str],
    frame: Any,
) -> dict[str, Any]:
    """Add reasons to a specification: its features are compared with their means in the sample.

    Args:
        spec: without reasons.
        order: the reasons.
        rename: new names of features, by their columns.
        frame: the sample.

    Raises:
        ValueRefused: for a feature that the card does not have, a code with two texts, and a
            cut-off at which nobody is.

    """
    given = {rename.get(name, name): reason for name, reason in order.by_feature.items()}
    names = [str(feature["name"]) for feature in spec["features"]]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise refuse(f"`reasons` names {unknown[0]!r}, which the card does not have")
    card = Card(spec)
    columns = {rename.get(str(name), str(name)): name for name in frame.columns}
    rows = len(frame)
    flags = spec_flags(spec)
    found = {
        name: card.find(name, column(frame, columns[name], 0, rows, flags.get(name)))
        for name in names
    }
    scores = card.scores(found, rows)
    chosen = _chosen(scores, order.cutoff, (spec.get("scaling") or {}).get("pdo"))
    features = []
    for feature in spec["features"]:
        reason = given.get(feature["name"])
        if reason is None:
            features.append({**feature, "reason_eligible": False})
            continue
        values = found[feature["name"]]
        made = {
            **feature,
            "reason_code": reason.code,
            "reason_baseline": math.fsum(values[row][1] for row in chosen) / len(chosen),
        }
        if reason.source is not None:
            made["source"] = reason.source
        if reason.actionable is not None:
            made["actionable"] = reason.actionable
        features.append(made)
    basis = "mean" if order.cutoff is None else "mean_at_cutoff"
    return {
        **spec,
        "features": features,
        "reasons": {"version": 1, "method": "fixed", "baseline_basis": basis},
        "reason_codes": _codes(given.values()),
    }


def _chosen(scores: Sequence[float], cutoff: float | None, pdo: Any) -> Sequence[int]:
    """The rows of the sample that reasons compare with."""
    if cutoff is None:
        return range(len(scores))
    if not isinstance(pdo, int | float):
        raise refuse("a card without a pdo has no band at the cut-off: leave `reasons_cutoff` out")
    low, high = sorted((cutoff, cutoff + pdo))
    chosen = [row for row, score in enumerate(scores) if low <= score <= high]
    if not chosen:
        raise refuse(f"nobody in the frame scores from {low:g} to {high:g}")
    return chosen


def _codes(reasons: Any) -> dict[str, dict[str, str]]:
    codes: dict[str, dict[str, str]] = {}
    for reason in reasons:
        text = {_LANGUAGE: reason.text} if isinstance(reason.text, str) else dict(reason.text)
        if codes.setdefault(reason.code, text) != text:
            raise refuse(f"the code {reason.code!r} has two texts")
    return codes
