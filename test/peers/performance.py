"""Writes test/fixtures/performance/reference.json: the figures of NumPy, SciPy, scikit-learn and
statsmodels for the performance of scores.

    python -m venv VENV && VENV/bin/pip install scipy scikit-learn statsmodels
    VENV/bin/python test/peers/performance.py > test/fixtures/performance/reference.json

The data sets are drawn by a linear congruential generator that the tests have, too.
"""

import json
import math

import numpy as np
import scipy
import sklearn
import statsmodels
from scipy import stats
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

BAND = 20
RISKS = [0.1, 0.35, 0.24, 0.8, 0.2, 0.85, 0.13, 0.85, 0.74, 0.58, 0.71, 0.25]
BADS = [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1]
REPLICATES = 1000
SEED = 20_260_101


def sample(n, has_ties):
    state = n

    def draw():
        nonlocal state
        state = (state * 1664525 + 1013904223) % 4294967296
        return state / 4294967296

    def score_of(u):
        return math.floor(u * 20) * 10 + 400 if has_ties else 400 + 200 * u

    champion, challenger, bad = [], [], []
    for _ in range(n):
        a, b, c = draw(), draw(), draw()
        score = score_of(a)
        champion.append(score)
        challenger.append(score_of(a * 0.6 + b * 0.4))
        bad.append(c < 1 / (1 + math.exp((score - 460) / 30)))
    return np.array(champion), np.array(challenger), np.array(bad)


def pd_of(scores):
    """What a card that is a little too mild gives."""
    return 1 / (1 + np.exp((scores - 455) / 30))


def placements(risk, bad):
    goods, bads = risk[~bad], risk[bad]
    ranks = stats.rankdata(np.concatenate([bads, goods]))
    own_bad, own_good = stats.rankdata(bads), stats.rankdata(goods)
    of_bad = (ranks[: len(bads)] - own_bad) / len(goods)
    of_good = 1 - (ranks[len(bads) :] - own_good) / len(bads)
    return of_bad, of_good


def delong(risks, bad):
    """AUCs and their covariance: DeLong, DeLong, Clarke-Pearson (1988)."""
    both = [placements(risk, bad) for risk in risks]
    of_bad = np.array([one[0] for one in both])
    of_good = np.array([one[1] for one in both])
    covariance = np.cov(of_bad) / of_bad.shape[1] + np.cov(of_good) / of_good.shape[1]
    return of_bad.mean(axis=1), np.atleast_2d(covariance)


def interval(auc, se):
    z = stats.norm.ppf(0.975)
    logit, half = math.log(auc / (1 - auc)), z * se / (auc * (1 - auc))
    return [float(scipy.special.expit(logit - half)), float(scipy.special.expit(logit + half))]


def spiegelhalter(pd, bad):
    y = bad.astype(float)
    z = ((y - pd) * (1 - 2 * pd)).sum() / math.sqrt(((1 - 2 * pd) ** 2 * pd * (1 - pd)).sum())
    return {"z": float(z), "p": float(2 * stats.norm.sf(abs(z)))}


def group(n, bad, pd):
    low, high = proportion_confint(bad, n, method="jeffreys")
    return {
        "n": int(n),
        "bad": int(bad),
        "mean_pd": float(pd),
        "low": float(low),
        "high": float(high),
        "jeffreys_p": float(stats.beta.cdf(pd, bad + 0.5, n - bad + 0.5)),
        "binomial_p": float(stats.binomtest(int(bad), int(n), float(pd), "greater").pvalue),
        "z": float((bad - n * pd) / math.sqrt(n * pd * (1 - pd))),
    }


def hosmer_lemeshow(groups):
    chi2 = sum(
        (one["bad"] - one["n"] * one["mean_pd"]) ** 2
        / (one["n"] * one["mean_pd"] * (1 - one["mean_pd"]))
        for one in groups
    )
    return {"chi2": chi2, "df": len(groups), "p": float(stats.chi2.sf(chi2, len(groups)))}


def mulberry32(seed):
    state, mask = seed, 0xFFFFFFFF
    while True:
        state = (state + 0x6D2B79F5) & mask
        mixed = ((state ^ (state >> 15)) * (1 | state)) & mask
        mixed = ((mixed + (((mixed ^ (mixed >> 7)) * (61 | mixed)) & mask)) & mask) ^ mixed
        yield ((mixed ^ (mixed >> 14)) & mask) / 2**32


def ks_bootstrap(scores, bad):
    """Draws bad applicants before good ones, each by its place among the sorted scores."""
    units = mulberry32(SEED)
    bads, goods = np.sort(scores[bad]), np.sort(scores[~bad])
    values = []
    for _ in range(REPLICATES):
        drawn = []
        for of in (bads, goods):
            places = [math.floor(next(units) * len(of)) for _ in range(len(of))]
            drawn.append(of[places])
        values.append(stats.ks_2samp(drawn[0], drawn[1], method="asymp").statistic)
    return [float(q) for q in np.quantile(values, [0.025, 0.975])]


def expected_auc(pd, risk):
    pairs = pd[:, None] * (1 - pd[None, :])
    wins = (risk[:, None] > risk[None, :]) + 0.5 * (risk[:, None] == risk[None, :])
    np.fill_diagonal(pairs, 0)
    return float((pairs * wins).sum() / pairs.sum())


def gains(scores, bad, bands_max=10):
    """Bands from the best score down: each ends with the score that holds the next tenth of all."""
    values, counts = np.unique(scores, return_counts=True)
    total, before, start, bands = len(scores), 0, None, []
    cum = 0
    for value, n in zip(values[::-1], counts[::-1]):
        start = value if start is None else start
        cum += int(n)
        is_last = value == values[0]
        if cum * bands_max < total * (before * bands_max // total + 1) and not is_last:
            continue
        own = (scores >= value) & (scores <= start)
        better = scores >= value
        low, high = proportion_confint(bad[own].sum(), own.sum(), method="jeffreys")
        bands.append(
            {
                "min": float(value),
                "max": float(start),
                "count": int(own.sum()),
                "bad": int(bad[own].sum()),
                "cum_count": int(better.sum()),
                "cum_bad": int(bad[better].sum()),
                "bad_rate": float(bad[own].mean()),
                "low": float(low),
                "high": float(high),
                "cum_bad_rate": float(bad[better].mean()),
                "lift": float(bad[own].mean() / bad.mean()),
            }
        )
        before, start = cum, None
    return bands


def order(seed):
    """Bins with their points, and whether bad rates are in this order; some points come twice."""
    state = seed

    def draw(below):
        nonlocal state
        state = (state * 1664525 + 1013904223) % 4294967296
        return state * below // 4294967296

    direction = 1 if seed % 2 == 0 else -1
    bins = []
    for _ in range(2 + draw(7)):
        n = 1 + draw(400)
        bins.append({"points": draw(8) - 3, "n": n, "bad": draw(min(n, 60) + 1)})
    points = np.array([one["points"] for one in bins]) * direction
    rates = np.array([one["bad"] / one["n"] for one in bins])
    is_flat = len(set(points)) == 1 or len(set(rates)) == 1
    levels = []
    for value in sorted(set(points), reverse=True):
        own = [one for one, at in zip(bins, points) if at == value]
        levels.append((float(value * direction), sum(o["n"] for o in own), sum(o["bad"] for o in own)))
    inversions = []
    for (better, n, bad), (worse, other_n, other_bad) in zip(levels, levels[1:]):
        if bad * other_n <= other_bad * n:
            continue
        p = float(proportions_ztest([bad, other_bad], [n, other_n])[1])
        if p < 0.05:
            inversions.append({"better": better, "worse": worse, "p": p})
    spearman = None if is_flat else float(stats.spearmanr(points, rates).statistic)
    return {"direction": direction, "bins": bins, "spearman": spearman, "inversions": inversions}


def ks_at(scores, bad):
    found = stats.ks_2samp(scores[bad], scores[~bad])
    return float(found.statistic), float(found.statistic_location)


def figures(n, has_ties):
    champion, challenger, bad = sample(n, has_ties)
    pd = pd_of(champion)
    aucs, covariance = delong([-champion, -challenger], bad)
    se = math.sqrt(covariance[0, 0])
    difference = float(aucs[1] - aucs[0])
    difference_se = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    ks, ks_score = ks_at(champion, bad)
    bands = np.floor(champion / BAND)
    groups = [
        {"min": float(band * BAND), **group((bands == band).sum(), bad[bands == band].sum(), pd[bands == band].mean())}
        for band in np.unique(bands)
    ]
    below = champion <= ks_score
    share_bad, share_good = below[bad].mean(), below[~bad].mean()
    variance = share_bad * (1 - share_bad) / bad.sum() + share_good * (1 - share_good) / (~bad).sum()
    half = float(stats.norm.ppf(0.975) * math.sqrt(variance))
    return {
        "n": n,
        "has_ties": has_ties,
        "bad": int(bad.sum()),
        "auc": float(roc_auc_score(bad, -champion)),
        "auc_se": se,
        "auc_interval": interval(float(aucs[0]), se),
        "ks": ks,
        "ks_score": ks_score,
        "ks_bootstrap": ks_bootstrap(champion, bad) if n <= 2000 else None,
        "ks_asymptotic": [max(0.0, ks - half), min(1.0, ks + half)],
        "brier": float(brier_score_loss(bad, pd)),
        "spiegelhalter": spiegelhalter(pd, bad),
        "development": {
            "auc": 0.9,
            "s": (0.9 - float(aucs[0])) / se,
            "p": float(stats.norm.sf((0.9 - float(aucs[0])) / se)),
        },
        "challenger_auc": float(roc_auc_score(bad, -challenger)),
        "difference": difference,
        "difference_se": difference_se,
        "difference_p": float(2 * stats.norm.sf(abs(difference / difference_se))),
        "groups": groups,
        "hosmer_lemeshow": hosmer_lemeshow(groups),
        "expected_bads": float(pd.sum()),
        "gains": gains(champion, bad),
        "expected_auc": expected_auc(pd, -champion) if n <= 2000 else None,
    }


def small():
    risk, bad = np.array(RISKS), np.array(BADS).astype(bool)
    aucs, covariance = delong([risk], bad)
    auc, se = float(aucs[0]), math.sqrt(covariance[0, 0])
    z = stats.norm.ppf(0.975)
    ks, _ = ks_at(risk, bad)
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    hanley = math.sqrt(
        (auc * (1 - auc) + (bad.sum() - 1) * (q1 - auc**2) + ((~bad).sum() - 1) * (q2 - auc**2))
        / (bad.sum() * (~bad).sum())
    )
    pds = np.array([0.02, 0.05, 0.1, 0.2, 0.4])
    pairs = pds[:, None] * (1 - pds[None, :])
    wins = (pds[:, None] > pds[None, :]) + 0.5 * (pds[:, None] == pds[None, :])
    groups = [group(n, bad, pd) for n, pd, bad in GROUPS]
    return {
        "auc": float(roc_auc_score(bad, risk)),
        "auc_se": se,
        "plain_interval": [auc - z * se, auc + z * se],
        "auc_interval": interval(auc, se),
        "ks": ks,
        "brier": float(brier_score_loss(bad, risk)),
        "spiegelhalter": spiegelhalter(risk, bad),
        "hanley_mcneil_se": hanley,
        "development": {
            "auc": 0.8,
            "s": (0.8 - auc) / se,
            "p": float(stats.norm.sf((0.8 - auc) / se)),
        },
        "groups": groups,
        "hosmer_lemeshow": hosmer_lemeshow(groups),
        "expected_bads": float(pds.sum()),
        "expected_auc": expected_auc(pds, pds),
        "expected_auc_with_selves": float((pairs * wins).sum() / pairs.sum()),
    }


GROUPS = [(400, 0.005, 3), (300, 0.02, 9), (200, 0.06, 14), (100, 0.15, 21)]

print(
    json.dumps(
        {
            "versions": {
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "scikit-learn": sklearn.__version__,
                "statsmodels": statsmodels.__version__,
            },
            "small": small(),
            "orders": [order(seed) for seed in range(1, 41)],
            "samples": [
                figures(400, True),
                figures(1500, False),
                figures(30_000, True),
                figures(50_000, False),
            ],
        },
        indent=1,
    )
)
