# %% [markdown]
# # Two years of a scorecard
#
# A card is fitted, deployed, watched while its applicants change, measured against outcomes, and
# followed by a successor with two more features: beside the champion, backtested, approved by a
# second person, promoted, and taken back. All data are made up here.
#
# ```
# pip install ./clients/python optbinning
# export SCORELINE_URL=http://127.0.0.1:3000 SCORELINE_KEY=sk_…
# export SCORELINE_ADMIN=…    # token of an admin, who asks for changes
# export SCORELINE_SECOND=…   # token of the owner, who approves them
# ```
#
# A month of applicants takes a second here, so that its period is the moments before and after.

# %%
import datetime
import os
import time

import numpy as np
import pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression

from scoreline import About, Client, Reason

client = Client(token=os.environ["SCORELINE_ADMIN"])
second = Client(token=os.environ["SCORELINE_SECOND"])
NAME = "Instalment loans"
random = np.random.default_rng(2026)

# %% [markdown]
# ## Applicants
#
# From month 6 on more of them come online, with lower incomes. `savings_rate` and `rent_share` are
# known for all, but the first card does not read them. `surname` never leaves the notebook.


# %%
def applicants(month: int, count: int) -> pd.DataFrame:
    """Applicants of a month, with what became of them."""
    online = min(0.75, 0.2 + 0.06 * max(0, month - 5))
    channel = np.where(random.random(count) < online, "online", "branch")
    frame = pd.DataFrame(
        {
            "income": random.lognormal(7.6 - 0.25 * (channel == "online"), 0.45, count).round(2),
            "age": random.integers(18, 80, count),
            "utilisation": random.beta(2, 3, count).round(4),
            "months_employed": random.gamma(1.5, 40, count).round(),
            "channel": channel,
            "had_arrears": random.random(count) < 0.12,
            "savings_rate": random.beta(1.5, 6, count).round(4),
            "rent_share": random.beta(4, 7, count).round(4),
            "surname": "Ramirez",
        }
    )
    risk = (
        -2.4
        - 0.9 * (np.log(frame["income"]) - 7.5)
        + 2.2 * frame["utilisation"]
        - 0.004 * frame["months_employed"]
        + 0.5 * (channel == "online")
        + 1.2 * frame["had_arrears"]
        - 5.0 * frame["savings_rate"]
        + 3.5 * (frame["rent_share"] - 0.36)
    )
    frame["bad"] = (random.random(count) < 1 / (1 + np.exp(-risk))).astype(int)
    day = pd.Timestamp("2024-01-15") + pd.DateOffset(months=month)
    frame["applied_on"] = day
    frame["number"] = [f"L-{month:02d}-{at:04d}" for at in range(count)]
    return frame


sample = applicants(0, 4000)
sample["bad"].mean()

# %% [markdown]
# ## Fit, check, deploy

# %%
FIRST = ["income", "age", "utilisation", "months_employed", "channel", "had_arrears"]


def fitted(features: list[str], frame: pd.DataFrame) -> Scorecard:
    """A card of optbinning."""
    card = Scorecard(
        binning_process=BinningProcess(features, categorical_variables=["channel"]),
        estimator=LogisticRegression(max_iter=1000),
        scaling_method="pdo_odds",
        scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600},
    )
    return card.fit(frame[features], frame["bad"])


card = fitted(FIRST, sample)
client.check(card, sample, name=NAME, accept_unreached=True)

# %%
about = About(
    purpose="Decides on instalment loans up to 10,000",
    owner="Risk models",
    limits="Not for self-employed applicants",
    outcome="bad",
    date="applied_on",
    notebook="two_years.ipynb",
)
why = {
    "income": Reason("R01", {"en": "Income", "es": "Ingresos"}, source="application"),
    "utilisation": Reason("R02", "Use of credit limits", source="consumer_report"),
    "had_arrears": Reason("R03", "Arrears in the last years", source="consumer_report"),
}
said = {"name": NAME, "environment": "production", "accept_unreached": True}
deployed = client.deploy(card, sample, version="1.0", about=about, reasons=why, **said)
deployed.report.verdict

# %% [markdown]
# The cell can run again: the same card is the same model.

# %%
client.deploy(card, sample, version="1.0", about=about, reasons=why, **said).is_known

# %%
client.model_card(deployed)

# %%
client.set_cutoff(NAME, 550)
client.set_alarm(NAME, watch=0.1, act=0.25, n_min=200)
client.deployment(NAME)

# %% [markdown]
# ## The first year

# %%
SLUG = client.deployment(NAME).slug
log: dict[int, pd.DataFrame] = {}
periods: dict[int, tuple[datetime.datetime, datetime.datetime]] = {}


def live(month: int) -> None:
    """Score the applicants of a month."""
    frame = applicants(month, 300)
    start = datetime.datetime.now(datetime.timezone.utc)
    scored = client.score(frame, SLUG, reference="number")
    time.sleep(0.01)
    periods[month] = (start, datetime.datetime.now(datetime.timezone.utc))
    log[month] = frame.join(scored[["score", "pd", "request_id"]])


def logged() -> None:
    """Wait until the newest score is in the log."""
    newest = log[max(log)]["number"].iloc[-1]
    while client.find(newest).empty:
        time.sleep(0.2)


for month in range(1, 13):
    live(month)
logged()
client.score(log[1].iloc[0], SLUG, reasons=2, points=True)

# %% [markdown]
# The applicants drift, and so does the score. `csi_psi` says which feature.

# %%
drift = {}
for month, (start, end) in periods.items():
    found = client.stability(SLUG, since=start, until=end)
    drift[month] = {
        "psi": found.summary["score_psi"][0],
        **found.features.set_index("name")["csi_psi"],
    }
pd.DataFrame(drift).T.round(3)

# %%
client.overview("production").set_index("name").loc[[NAME]].T

# %% [markdown]
# ## Outcomes

# %%
client.define_outcome(
    "gb12",
    label="Bad within 12 months",
    window_months=12,
    bad_rule_text="90 days past due",
    maturity_months=12,
)
booked = pd.concat([log[month] for month in range(1, 13)])
booked = booked[booked["score"] >= 500]
became = pd.DataFrame(
    {
        "reference": booked["number"],
        "outcome": np.where(booked["bad"] == 1, "bad", "good"),
        "booked_at": booked["applied_on"],
        "event_date": (booked["applied_on"] + pd.DateOffset(months=7)).where(booked["bad"] == 1),
        "as_of": pd.Timestamp("2026-06-30"),
    }
)
sent = client.outcomes(became, deployment=SLUG, kind="performance", definition="gb12")
sent["status"].value_counts()

# %%
performance = client.performance(SLUG, "gb12")
performance.summary[["n", "good", "bad", "auc", "auc_low", "auc_high", "gini", "ks"]]

# %%
client.vintages(SLUG, "gb12").pivot(index="cohort", columns="month", values="value").iloc[:, ::3]

# %% [markdown]
# ## A successor with two more features

# %%
SECOND = [*FIRST, "savings_rate", "rent_share"]
recent = pd.concat([sample, *log.values()], ignore_index=True)
successor = fitted(SECOND, recent)
report = client.check(successor, recent, name=NAME, accept_unreached=True)
report.verdict

# %% [markdown]
# The log has bins, and not values: the service alone can give bounds for another card. With the
# frame each score is exact, after each value was found in its logged bin.

# %%
bounded = client.backtest(report, SLUG, cutoffs=[550])
bounded.summary.T

# %%
known = pd.concat(log.values(), ignore_index=True)
exact = client.backtest(report, SLUG, frame=known, reference="number", outcome="bad", cutoffs=[550])
exact.proof

# %%
exact.performance

# %%
exact.swap_sets

# %% [markdown]
# ## Beside the champion

# %%
challenger = client.deploy(
    successor, recent, onto=NAME, version="2.0", shadow=True, about=about, accept_unreached=True
)
challenger.change.added

# %%
for month in range(13, 19):
    live(month)
logged()
entry = client.deployment(NAME).challengers[0]
client.swap_set(SLUG, entry.id, rule="same_approval_rate").cells

# %%
this_month = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m")
month_report = client.monthly_report(NAME, this_month, definition="gb12")
month_report.summary.T

# %%
month_report.changes

# %% [markdown]
# ## Two people promote it

# %%
client.require_approval(NAME)
change = client.promote(NAME, reason="minutes of the credit committee, 12 February")
change.pending

# %%
second.change_requests(NAME)[["action", "state", "reason"]]

# %%
second.approve(change, comment="as decided by the committee")
change.wait(60).state

# %%
before = log[18]["score"]
for month in range(19, 25):
    live(month)
logged()
client.deployment(NAME).champion

# %%
second_year = pd.concat([log[month] for month in range(19, 25)])
second_year.groupby(second_year["bad"])["score"].describe()[["count", "mean", "std"]]

# %% [markdown]
# ## The way back
#
# It waits for the second person, too.

# %%
back = client.roll_back(NAME, reason="approval rate fell below plan")
second.approve(back)
back.wait(60)
client.deployment(NAME).champion

# %%
client.models(name=NAME)[["version", "status", "environment"]]

# %% [markdown]
# ## To other engines

# %%
sql = client.export(challenger, "sql", dialect="duckdb", table="applicants", key=["number"])
print("\n".join(sql.splitlines()[:6]))

# %%
month_report.save("two-years-report.html")
os.remove("two-years-report.html")
