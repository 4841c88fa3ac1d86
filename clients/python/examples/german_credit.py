# %% [markdown]
# # From raw data to a card in production that is watched
#
# A scorecard is fitted with optbinning, checked, deployed, scored, read back, and compared with
# what became of its applicants. The data are 1,000 applicants of the German credit sample (Statlog,
# UCI, H. Hofmann, CC BY 4.0), which this repository has in `src/cli/demo/german-credit`.
#
# Install the client and the library, and say where the service is:
#
# ```
# pip install ./clients/python optbinning
# export SCORELINE_URL=http://127.0.0.1:3000 SCORELINE_TOKEN=sa_… SCORELINE_KEY=sk_…
# ```

# %%
import json
from pathlib import Path

import pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from scoreline import Client

root = next(one for one in [Path.cwd(), *Path.cwd().parents] if (one / "src/cli/demo").exists())
rows = json.loads((root / "src/cli/demo/german-credit/applicants.json").read_text())
df = pd.DataFrame([row["applicant"] for row in rows], index=[row["id"] for row in rows])
outcomes = pd.read_csv(
    root / "clients/python/examples/german-credit-outcomes.csv", dtype={"id": str}
).set_index("id")["bad"]
df.iloc[:3, :5]

# %% [markdown]
# ## Fit
#
# 700 applicants are the development sample. The other 300 come later, as applicants of the card.

# %%
known, later = train_test_split(df, test_size=300, random_state=1, stratify=outcomes)
categorical = [name for name in df if not pd.api.types.is_numeric_dtype(df[name])]
card = Scorecard(
    binning_process=BinningProcess(list(df), categorical_variables=categorical),
    estimator=LogisticRegression(C=0.5, max_iter=1000),
    scaling_method="pdo_odds",
    scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600},
)
card.fit(known, outcomes[known.index])
card.table().head()

# %% [markdown]
# ## Check
#
# The service converts the card with its exact splits and scores the same applicants. Nothing is
# stored. optbinning's own scores and probabilities are what it is compared with.

# %%
client = Client()
report = client.check(card, known)
report.certificate.T

# %% [markdown]
# ## Deploy
#
# The same comparison again, and the card is registered with its certificate. The compared
# applicants become the development sample of the model.

# %%
grades = [
    {"grade": "A", "min_score": 570, "max_score": None},
    {"grade": "B", "min_score": 530, "max_score": 569.99},
    {"grade": "C", "min_score": None, "max_score": 529.99},
]
deployed = client.deploy(
    card, known, name="German credit", risk_grades=grades, accept_unreached=True
)
deployed.slug is not None, deployed.report.verdict

# %% [markdown]
# ## Score
#
# Each application has a number, by which it is found again.

# %%
applications = later.assign(number="A-" + later.index)
scores = client.score(applications, deployed, reference="number")
scores[["score", "pd", "risk_grade"]].head()

# %% [markdown]
# The scores have the bits of optbinning's.

# %%
(scores["score"].to_numpy() == card.score(later)).sum(), len(scores)

# %% [markdown]
# ## Read a score back

# %%
import time  # noqa: E402

time.sleep(3)  # what was answered is in the log within two seconds
first = scores.iloc[0]
client.read(first["request_id"], record=first["record_index"])[["feature", "bin", "points"]]

# %%
explained = client.explain(first["request_id"], record=first["record_index"])
explained.features[["name", "points", "text"]].head()

# %% [markdown]
# ## Watch
#
# Do the applicants still look like the development sample?

# %%
stability = client.stability(deployed)
stability.summary[["n", "score_psi", "score_cv_95", "score_verdict"]]

# %%
stability.features[["name", "csi_psi", "csi_points", "verdict"]].sort_values(
    "csi_psi", ascending=False
).head()

# %% [markdown]
# ## Cut-offs
#
# What would a cut-off have approved, and how many bad ones does the card expect?

# %%
client.cutoffs(deployed, [530, 550, 570]).cutoffs[
    ["cutoff", "approved", "approval_rate", "mean_pd_approved", "expected_bads_approved"]
]

# %% [markdown]
# ## Outcomes
#
# A year later it is known who paid. The definition says what bad means. An outcome is known today
# and never later, so these loans are booked 13 months ago.

# %%
client.define_outcome(
    "gb12",
    label="Bad within 12 months",
    window_months=12,
    bad_rule_text="90 days past due",
    maturity_months=12,
)
became = pd.DataFrame(
    {
        "reference": applications["number"],
        "outcome": outcomes[later.index].map({0: "good", 1: "bad"}),
        "booked_at": pd.Timestamp.now().normalize() - pd.DateOffset(months=13),
        "as_of": pd.Timestamp.now().normalize(),
    }
)
sent = client.outcomes(became, deployment=deployed, kind="performance", definition="gb12")
sent["status"].value_counts()

# %%
performance = client.performance(deployed, "gb12")
performance.summary[["n", "good", "bad", "auc", "auc_low", "auc_high", "gini", "ks"]]

# %%
performance.gains[["min_score", "max_score", "count", "bad_rate", "approval_rate"]]

# %%
client.close()
