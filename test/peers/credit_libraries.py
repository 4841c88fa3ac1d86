"""Computes the figures of `credit-libraries.ts` with libraries for credit risk, and compares.

    pip install numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 scikit-learn==1.9.1 probcal==0.3.4 pauc==0.2.2 toad==0.1.7
    node test/peers/credit-libraries.ts 300 > FIGURES && python test/peers/credit_libraries.py FIGURES

Jeffreys' and the binomial test of a grade, with its light: probcal. AUC, DeLong's standard error and the comparison of
two scores: pauc. PSI that skips empty cells, and KS: toad.
"""

import json
import math
import sys
from collections import Counter
from importlib import metadata

import numpy as np
from pauc import ROC, compare, var
from probcal.metrics.grade import binomial_grade_test, jeffreys_grade_test
from toad.metrics import KS, PSI


def close(one, other, digits=1e-9):
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=digits, abs_tol=1e-12)


def calibration(case):
    # probcal takes no sample of one outcome: another grade has both.
    outcomes = np.append(np.repeat([1, 0], [case["bad"], case["n"] - case["bad"]]), [0, 1])
    pds = np.append(np.full(case["n"], case["meanPd"]), [0.5, 0.5])
    grades = np.append(np.full(case["n"], "A"), ["B", "B"])
    jeffreys = jeffreys_grade_test(outcomes, pds, grades)
    binomial = binomial_grade_test(outcomes, pds, grades)
    return (
        close(case["jeffreysP"], float(jeffreys.p_value[0]))
        and close(case["binomialP"], float(binomial.p_value[0]))
        and str(jeffreys.light[0]) == case["light"]
    )


def discrimination(case):
    bad = np.array(case["isBad"], int)
    # A safer applicant has a higher score.
    champion, challenger = (
        ROC(bad, -np.array(case[name], float), direction="<") for name in ("champion", "challenger")
    )
    found = compare(challenger, champion)
    paired = case["paired"]
    equal = [
        close(case["auc"], float(champion.auc)),
        close(case["aucSe"], math.sqrt(float(var(champion, "delong")))),
        close(case["ks"], float(KS(np.array(case["champion"], float), bad))),
        close(paired["aucDifference"], float(challenger.auc - champion.auc), 1e-7),
    ]
    if paired["z"] is not None:
        equal.append(close(paired["z"], float(found.stat), 1e-7))
        equal.append(close(paired["pValue"], float(found.p_value), 1e-7))
    return all(equal)


def psi(case):
    expected, actual = (np.repeat(np.arange(len(case[side])), case[side]) for side in ("expected", "actual"))
    return close(case["psi"], float(PSI(actual, expected)))


CHECKS = {"calibration": calibration, "discrimination": discrimination, "psi": psi}

names = ["numpy", "pandas", "scipy", "scikit-learn", "probcal", "pauc", "toad"]
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
