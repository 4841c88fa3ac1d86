"""The model and applicants of all three: 1,000 of the German credit sample, cards of optbinning."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

warnings.filterwarnings("ignore")
ROOT = Path(__file__).resolve().parents[3]
ROWS = json.loads((ROOT / "src/cli/demo/german-credit/applicants.json").read_text())
FRAME = pd.DataFrame([row["applicant"] for row in ROWS], index=[row["id"] for row in ROWS])
bad = pd.read_csv(ROOT / "clients/python/examples/german-credit-outcomes.csv", dtype={"id": str}).set_index("id")["bad"]
# 700 were known when the card was fitted, 300 came later.
known, later = train_test_split(FRAME, test_size=300, random_state=1, stratify=bad)
SECOND = list(FRAME)
FIRST = SECOND[:9]


def fit(features):
    """A scorecard: bins, logistic regression, points."""
    texts = [name for name in features if not pd.api.types.is_numeric_dtype(FRAME[name])]
    card = Scorecard(
        binning_process=BinningProcess(features, categorical_variables=texts),
        estimator=LogisticRegression(C=0.5, max_iter=1000),
        scaling_method="pdo_odds",
        scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600},
    )
    return card.fit(known[features], bad[known.index])


class Scored(BaseEstimator):
    """A card whose prediction is the score, for tools that call `predict`."""

    def __init__(self, card=None):
        self.card = card

    def predict(self, frame):
        return np.asarray(self.card.score(frame))
