"""From a fitted optbinning.Scorecard to a scored applicant, with the seconds that each line takes.

SCORELINE_URL, SCORELINE_TOKEN and SCORELINE_KEY say where and as whom.
"""

import json
import time
from pathlib import Path

import pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression

from scoreline import Client

here = Path(__file__).resolve().parent
sample = here.parents[2] / "src" / "cli" / "demo" / "german-credit" / "applicants.json"
rows = json.loads(sample.read_text())
df = pd.DataFrame([row["applicant"] for row in rows], index=[row["id"] for row in rows])
outcomes = pd.read_csv(here / "german-credit-outcomes.csv", dtype={"id": str}).set_index("id")
categorical = [name for name in df.columns if not pd.api.types.is_numeric_dtype(df[name])]

card = Scorecard(
    binning_process=BinningProcess(list(df.columns), categorical_variables=categorical),
    estimator=LogisticRegression(max_iter=1000),
    scaling_method="pdo_odds",
    scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600},
)
card.fit(df, outcomes["bad"].reindex(df.index))

started = time.perf_counter()
client = Client()
deployed = client.deploy(card, df, name="German credit", accept_unreached=True)
ready = time.perf_counter()
score = client.score(df.head(1), deployed)
ended = time.perf_counter()

print(deployed.report)
print(score[["score", "pd"]])
print(f"{ready - started:.2f} s to check {len(df)} applicants and deploy")
print(f"{ended - ready:.2f} s to score the first one, {ended - started:.2f} s in all")
