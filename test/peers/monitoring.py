"""Computes the figures of `monitoring.ts` with libraries of others, and compares.

    pip install numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 statsmodels==0.15.0 psi-inference==0.1.0
    node test/peers/monitoring.ts 500 > FIGURES && python test/peers/monitoring.py FIGURES

PSI and its chance: numpy, scipy.stats.chi2, and psi-inference where no cell is empty. McNemar: statsmodels. False
discovery rate: statsmodels' multipletests. Counts of samples, and what
a feature moved: numpy, from the values alone. Zero fills: scipy.special.rel_entr. Cut-offs and swap sets: numpy, every
cut-off tried. Migration of grades: pandas.crosstab and groupby.
"""

import json
import math
import sys
from collections import Counter
from importlib import metadata

import numpy as np
import pandas as pd
from scipy import special as stats_special
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import psi_inference

POINTS = [-12, 9.5, 3.25]


def close(one, other, digits=1e-9):
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=digits, abs_tol=1e-12)


def psi(case):
    expected, actual = np.array(case["expected"], float), np.array(case["actual"], float)
    taken = (expected > 0) | (actual > 0)
    expected, actual = expected[taken], actual[taken]
    n, m = expected.sum(), actual.sum()
    zeros = int((expected == 0).sum() + (actual == 0).sum())
    if len(expected) < 2:
        return case["zeroBins"] == zeros
    filled = [np.where(side == 0, 0.5, side) for side in (expected, actual)]
    e, a = (side / side.sum() for side in filled)
    index = float(((a - e) * np.log(a / e)).sum())
    scale = 1 / n + 1 / m
    degrees = len(expected) - 1
    equal = [
        case["zeroBins"] == zeros,
        close(case["psi"], index),
        close(case["cv95"], float(stats.chi2.ppf(0.95, degrees) * scale)),
        close(case["pValue"], float(stats.chi2.sf(index / scale, degrees)), 1e-6),
        close(case["cv95"], psi_inference.psi_critical_value(n, m, len(expected))),
        close(case["pValue"], psi_inference.psi_pvalue(index, n, m, len(expected)), 1e-6),
    ]
    if zeros == 0:
        equal.append(close(case["psi"], psi_inference.psi_statistic(expected, actual)))
    return all(equal)


def index_of(expected, actual, fill):
    """PSI with a stand-in for cells that are empty on one side: a count, a share, or nothing."""
    taken = (expected > 0) | (actual > 0)
    sides = [expected[taken], actual[taken]]
    if fill != "skip" and not fill.startswith("share:"):
        sides = [np.where(side == 0, float(fill), side) for side in sides]
    e, a = (side / side.sum() for side in sides)
    if fill.startswith("share:"):
        e, a = (np.where(side == 0, float(fill[6:]), side) for side in (e, a))
    if fill == "skip":
        both = (e > 0) & (a > 0)
        e, a = e[both], a[both]
    # scipy's relative entropy, in both directions, without the terms that sum to the masses.
    return float((stats_special.rel_entr(a, e) + stats_special.rel_entr(e, a)).sum())


def fill(case):
    sides = (np.array(case[side], float) for side in ("expected", "actual"))
    return close(case["psi"], index_of(*sides, case["zeroFill"]))


def swaps(case):
    found = mcnemar([[0, case["out"]], [case["into"], 0]], exact=False, correction=False)
    return close(case["chi2"], float(found.statistic)) and close(case["pValue"], float(found.pvalue), 1e-6)


def fdr(case):
    found = multipletests(case["values"], alpha=0.05, method="fdr_bh")[0]
    return case["found"] == [bool(one) for one in found]


def cell(value):
    if value is None:
        return 2
    return 0 if value <= 0 else 1 if value <= 10 else 3


def feature(case, points):
    """Index, points moved and compared applicants: of all values, then without values in no bin."""
    sides = [[cell(value) for value in case[side]] for side in ("then", "now")]
    for found, without in zip(case["feature"], (None, 3)):
        kept = [[one for one in side if one != without] for side in sides]
        counts = [np.bincount(side, minlength=4).astype(float) for side in kept]
        if found["compared"] != len(kept[1]):
            return False
        index = index_of(*counts, "0.5") if all(kept) else None
        # Points take all applicants now against the counted sample.
        now = float(np.mean([points[one] for one in sides[1]]))
        then = float(np.mean([points[one] for one in kept[0]])) if kept[0] else None
        moved = None if then is None else now - then
        if not close(found["psi"], index) or not close(found["points"], moved):
            return False
    return True


def swap_set(case):
    sign, cutoff = case["direction"], case["cutoff"]
    champion, challenger = (
        np.array([[row["results"][at]["score"], row["results"][at]["pd"]] for row in case["rows"]]) for at in (0, 1)
    )
    taken = sign * champion[:, 0] >= sign * cutoff
    n = len(taken)
    cut, found = case["cut"], case["swap"]
    if [cut["approved"], cut["declined"]] != [int(taken.sum()), int((~taken).sum())]:
        return False
    if not close(cut["expected_bads_approved"], float(champion[taken, 1].sum())):
        return False
    if not close(cut["approval_rate"], float(taken.mean())):
        return False
    other_cutoff, most = (cutoff, None) if case["rule"] == "same_cutoff" else (None, 0)
    if case["rule"] != "same_cutoff":
        own_rate = champion[taken, 1].mean() if taken.any() else None
        for candidate in np.unique(challenger[:, 0]):
            chosen = sign * challenger[:, 0] >= sign * candidate
            if case["rule"] == "same_approval_rate":
                fits = chosen.sum() <= taken.sum()
            else:
                fits = own_rate is not None and challenger[chosen, 1].mean() <= own_rate
            if fits and chosen.sum() > most:
                other_cutoff, most = float(candidate), chosen.sum()
    if not close(found["challenger_cutoff"], other_cutoff):
        return False
    chosen = np.zeros(n, bool) if other_cutoff is None else sign * challenger[:, 0] >= sign * other_cutoff
    cells = {
        "both_approve": taken & chosen,
        "swap_out": taken & ~chosen,
        "swap_in": ~taken & chosen,
        "both_decline": ~taken & ~chosen,
    }
    for name, rows in cells.items():
        one = found["cells"][name]
        if one["n"] != int(rows.sum()) or not close(one["expected_bads_champion"], float(champion[rows, 1].sum())):
            return False
        if not close(one["expected_bads_challenger"], float(challenger[rows, 1].sum())):
            return False
    return close(found["challenger_approval_rate"], float(chosen.mean()))


def migration(case):
    found = case["migration"]
    table = pd.DataFrame([[*champion, *challenger] for champion, challenger in case["rows"]])
    table.columns = ["champion", "champion_pd", "challenger", "challenger_pd"]
    # crosstab leaves missing values out.
    table = table.fillna({"champion": "none", "challenger": "none"})
    counts = pd.crosstab(table["champion"], table["challenger"])
    shares = pd.crosstab(table["champion"], table["challenger"], normalize="index")
    means = table.groupby(["champion", "challenger"])[["champion_pd", "challenger_pd"]].mean()
    names = [(cell["champion_grade"] or "none", cell["challenger_grade"] or "none") for cell in found["cells"]]
    if names != sorted(means.index.tolist()) or found["n"] != len(table):
        return False
    graded = counts.drop(index="none", errors="ignore").drop(columns="none", errors="ignore")
    same = sum(int(graded.loc[grade, grade]) for grade in graded.index if grade in graded.columns)
    total = int(graded.to_numpy().sum())
    if found["n_graded"] != total or not close(found["stable_share"], same / total if total else None):
        return False
    return all(
        cell["n"] == int(counts.loc[name])
        and close(cell["row_share"], float(shares.loc[name]))
        and close(cell["mean_pd_champion"], float(means.loc[name, "champion_pd"]))
        and close(cell["mean_pd_challenger"], float(means.loc[name, "challenger_pd"]))
        for cell, name in zip(found["cells"], names)
    )


def sample(case):
    sign = 1 if case["pdo"] > 0 else -1
    points = [*(sign * one for one in POINTS), 0]
    for side, values in enumerate((case["then"], case["now"])):
        counts = Counter(cell(value) for value in values)
        # Bins, then a number in no bin, then a text.
        if case["counts"][side] != [counts[0], counts[1], counts[2], counts[3], 0]:
            return False
        if not close(case["means"][side], float(np.mean([100 + points[cell(value)] for value in values]))):
            return False
    if not feature(case, points):
        return False
    scores = np.array([100 + points[cell(value)] for value in case["then"]])
    for band in case["bands"]:
        low = -math.inf if band["min"] is None else band["min"]
        high = math.inf if band["max"] is None else band["max"]
        if band["n"] != int(((scores >= low) & (scores < high)).sum()):
            return False
    return True


CHECKS = {
    "psi": psi,
    "fill": fill,
    "swap": swap_set,
    "migration": migration,
    "mcnemar": swaps,
    "fdr": fdr,
    "sample": sample,
}

names = ["numpy", "scipy", "pandas", "statsmodels", "psi-inference"]
print(", ".join(f"{name} {metadata.version(name)}" for name in names))
cases, equal = Counter(), Counter()
for line in open(sys.argv[1]):
    case = json.loads(line)
    cases[case["kind"]] += 1
    if CHECKS[case["kind"]](case):
        equal[case["kind"]] += 1
    elif cases[case["kind"]] - equal[case["kind"]] <= 3:
        print("differs:", line[:400])
for kind, count in cases.items():
    print(f"{kind}: {equal[kind]} of {count} equal")
sys.exit(0 if cases == equal else 1)
