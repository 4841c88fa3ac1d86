# %% first checked endpoint
import atexit, subprocess, time
import pandas as pd, pins, requests, vetiver
from model import FIRST, SECOND, Scored, bad, fit, known, later
board = pins.board_folder("pins", allow_pickle_read=True)
ports = iter(range(18_200, 18_300))
# FastAPI 0.165 asks for it, and vetiver 0.2.6 does not send it.
JSON = {"Content-Type": "application/json"}
def pin(card, features, said):
    model = vetiver.VetiverModel(Scored(card), "german_credit", prototype_data=known[features], metadata=said)
    vetiver.vetiver_pin_write(board, model)
    return board.pin_versions("german_credit")["version"].iloc[-1]
def serve(version):
    port = next(ports)
    vetiver.write_app(board, "german_credit", version, file=f"app_{port}.py")
    server = subprocess.Popen(["uvicorn", f"app_{port}:api", "--port", str(port), "--log-level", "error"])
    atexit.register(server.terminate)
    for _ in range(600):
        try:
            requests.get(f"http://127.0.0.1:{port}/ping", timeout=5).raise_for_status()
            return server, vetiver.vetiver_endpoint(f"http://127.0.0.1:{port}/predict")
        except requests.ConnectionError:
            time.sleep(0.1)
    raise SystemExit("the endpoint did not start")
card = fit(FIRST)
first = pin(card, FIRST, {"decided": "first card"})
server, endpoint = serve(first)
same = vetiver.predict(endpoint, known[FIRST], headers=JSON)["predict"].to_numpy() == card.score(known)
assert same.all()
# %% 300 applicants by number, scores equal to the notebook
def score(frame, at, version, features):
    rows = frame.assign(number=frame.index, version=version, at=pd.Timestamp.now() + pd.to_timedelta(range(len(frame)), "ms"))
    rows["score"] = vetiver.predict(at, frame[features], headers=JSON)["predict"].to_numpy()
    rows.to_csv("log.csv", mode="a", header=not pd.io.common.file_exists("log.csv"), index=False)
    return rows
numbered = later.set_axis("A-" + later.index)
scores = score(numbered, endpoint, first, FIRST)
assert (scores["score"].to_numpy() == card.score(later)).all()
# %% second version beside the first, in shadow
successor = fit(SECOND)
second = pin(successor, SECOND, {"decided": "challenger"})
beside, shadow_endpoint = serve(second)
champion = score(numbered.set_axis("B-" + later.index), endpoint, first, FIRST)
shadow = score(numbered.set_axis("B-" + later.index), shadow_endpoint, second, SECOND)
# %% promotion with a reason
def decide(version, reason):
    with open("decisions.csv", "a") as file:
        file.write(f"{pd.Timestamp.now()},{version},{reason}\n")
    return serve(version)
server.terminate()
server, endpoint = decide(second, "minutes of the committee 12 February")
# %% way back with a reason
server.terminate()
server, endpoint = decide(first, "approval rate fell below plan")
assert requests.get(endpoint.replace("/predict", "/metadata")).json()["version"] == first
# %% one score, months later
log = pd.read_csv("log.csv", parse_dates=["at"])
found = log[log["number"] == "A-" + later.index[0]].iloc[0]
# %% outcomes and how good the card is
from datetime import timedelta
from sklearn.metrics import roc_auc_score
def auc(y_true, y_pred):
    return roc_auc_score(y_true, -y_pred)
became = pd.DataFrame({"number": "A-" + later.index, "bad": bad[later.index].values})
joined = log.merge(became, on="number")
metrics = vetiver.compute_metrics(joined, "at", timedelta(days=30), [auc], "bad", "score")
board.pin_write(metrics, "metrics", type="csv")
# %% report of a month with drift
import numpy as np
vetiver.plot_metrics(metrics).write_html("month.html")
vetiver.model_card(".")
def psi(old, new):
    kinds = pd.qcut(old, 10, retbins=True, duplicates="drop")[1][1:-1] if pd.api.types.is_numeric_dtype(old) else None
    group = lambda values: pd.Series(np.digitize(values, kinds)) if kinds is not None else values
    counts = pd.concat([group(one).value_counts(normalize=True) for one in (old, new)], axis=1).fillna(1e-4)
    return ((counts.iloc[:, 1] - counts.iloc[:, 0]) * np.log(counts.iloc[:, 1] / counts.iloc[:, 0])).sum()
month = log[log["number"].str.startswith("A-")]
drift = {name: psi(known[name], month[name]) for name in FIRST}
# %% export to another engine
vetiver.prepare_docker(board, "german_credit", path=".", version=first)
