# %% first checked endpoint
import os
from model import FIRST, SECOND, bad, fit, known, later
from scoreline import Client
import pandas as pd
client = Client(token=os.environ["SCORELINE_ADMIN"])
first = client.deploy(fit(FIRST), known, name="German credit", version="1.0", accept_unreached=True)
assert first.report.agrees
# %% 300 applicants by number, scores equal to the notebook
scores = client.score(later.assign(number="A-" + later.index), first, reference="number")
assert (scores["score"] == fit(FIRST).score(later)).all()
# %% second version beside the first, in shadow
second = client.deploy(fit(SECOND), known, onto=first, version="2.0", shadow=True, accept_unreached=True)
shadow = client.score(later.assign(number="B-" + later.index), first, reference="number")
# %% promotion with a reason
client.promote(first, reason="minutes of the committee, 12 February")
# %% way back with a reason
client.roll_back(first, reason="approval rate fell below plan")
assert client.deployment(first).champion.version == "1.0"
# %% one score, months later
number = "A-" + later.index[0]
while client.find(number).empty:
    pass
found = client.find(number).iloc[0]
why = client.explain(found["request_id"], record=found["record_index"])
# %% outcomes and how good the card is
client.define_outcome("gb12", label="Bad", window_months=12, bad_rule_text="90 days past due", maturity_months=12)
today = pd.Timestamp.now().normalize()
became = pd.DataFrame({"reference": "A-" + later.index, "outcome": bad[later.index].map({0: "good", 1: "bad"}).values})
became = became.assign(booked_at=today - pd.DateOffset(months=13), as_of=today)
client.outcomes(became, deployment=first, kind="performance", definition="gb12")
auc = client.performance(first, "gb12").summary[["auc", "auc_low", "auc_high"]]
# %% report of a month with drift
report = client.monthly_report(first, today.strftime("%Y-%m"), definition="gb12")
report.save("month.html")
drift = client.stability(first).features[["name", "csi_psi"]]
# %% export to another engine
sql = client.export(first, "sql", dialect="duckdb", table="applicants", key=["number"])
pmml = client.export(first, "pmml")
