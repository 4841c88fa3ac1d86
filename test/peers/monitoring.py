"""Computes the figures of `monitoring.ts` with libraries of others, and compares.

    pip install numpy==2.4.6 scipy==1.17.1 statsmodels==0.15.0 psi-inference==0.1.0
    node test/peers/monitoring.ts 500 > FIGURES && python test/peers/monitoring.py FIGURES

PSI and its chance: numpy, scipy.stats.chi2, and psi-inference where no cell is empty. McNemar: statsmodels. False
discovery rate: statsmodels' multipletests. Counts of samples: numpy, from the values alone.
"""

import json
import math
import sys
from collections import Counter
from importlib import metadata

import numpy as np
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
    scores = np.array([100 + points[cell(value)] for value in case["then"]])
    for band in case["bands"]:
        low = -math.inf if band["min"] is None else band["min"]
        high = math.inf if band["max"] is None else band["max"]
        if band["n"] != int(((scores >= low) & (scores < high)).sum()):
            return False
    return True


CHECKS = {"psi": psi, "mcnemar": swaps, "fdr": fdr, "sample": sample}

names = ["numpy", "scipy", "statsmodels", "psi-inference"]
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
