"""How good scores are, and how two distributions differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .frames import pandas

#: Of the normal distribution, for 95 percent.
_Z = 1.959963984540054
#: What an empty cell counts as, as in the reports of the service.
_ZERO_FILL = 0.5


@dataclass(frozen=True)
class Auc:
    """The area under the ROC curve, with its interval of 95 percent by DeLong."""

    auc: float
    low: float
    high: float
    n: int
    bad: int


def auc_of(
    scores: Sequence[float], bads: Sequence[bool], *, is_good_high: bool = True
) -> Auc | None:
    """Measure how well scores tell good from bad; None without both.

    Args:
        scores: of applicants.
        bads: whether each was bad.
        is_good_high: whether a higher score is a lower risk.

    """
    values = pandas().Series([*scores], dtype=float)
    if not is_good_high:
        values = -values
    is_bad = pandas().Series([*bads], dtype=bool)
    good, bad = values[~is_bad], values[is_bad]
    m, n = len(good), len(bad)
    if not m or not n:
        return None
    ranks = values.rank()
    # The share of goods below each bad one and of bads below each good one; ties count half.
    above_bads = (ranks[~is_bad] - good.rank()) / n
    above_goods = (ranks[is_bad] - bad.rank()) / m
    area = float(above_bads.mean())
    spread = _variance(above_bads) / m + _variance(above_goods) / n
    half = _Z * math.sqrt(spread)
    return Auc(area, max(0.0, area - half), min(1.0, area + half), m + n, n)


def _variance(values: Any) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def bands_of(
    base: Sequence[float], other: Sequence[float], count: int = 10
) -> list[dict[str, Any]]:
    """Divide scores at the quantiles of the first ones, and count both in each band."""
    ordered = sorted(base)
    cuts = sorted({ordered[len(ordered) * at // count] for at in range(1, count)})
    edges = [-math.inf, *cuts, math.inf]
    rows = []
    for low, high in itertools.pairwise(edges):
        rows.append(
            {
                "min": None if low == -math.inf else low,
                "max": None if high == math.inf else high,
                "deployed": sum(low <= score < high for score in base),
                "candidate": sum(low <= score < high for score in other),
            }
        )
    return rows


def psi_of(bands: Sequence[dict[str, Any]]) -> float:
    """Measure how far two counts of the same bands lie apart."""
    counts = [(one["deployed"], one["candidate"]) for one in bands]
    total, other = (sum(pair[side] for pair in counts) for side in (0, 1))
    parts = (((a or _ZERO_FILL) / total, (b or _ZERO_FILL) / other) for a, b in counts)
    return float(sum((b - a) * math.log(b / a) for a, b in parts))
