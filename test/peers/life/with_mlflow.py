# %% first checked endpoint
import atexit, os, subprocess, time
import mlflow, numpy as np, pandas as pd, requests
from mlflow import MlflowClient
from model import FIRST, SECOND, bad, fit, known, later
mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("german credit")
registry = MlflowClient()
ports = iter(range(18_300, 18_400))
def log(card, features):
    with mlflow.start_run():
        return mlflow.sklearn.log_model(
            card, name="card", registered_model_name="german_credit", pyfunc_predict_fn="score",
            serialization_format="cloudpickle", input_example=known[features].head(),
        ).registered_model_version
def serve(version):
    port = next(ports)
    order = ["mlflow", "models", "serve", "-m", f"models:/german_credit/{version}", "-p", str(port), "--env-manager", "local"]
    server = subprocess.Popen(order, env={**os.environ, "MLFLOW_TRACKING_URI": "sqlite:///mlflow.db"})
    atexit.register(server.terminate)
    for _ in range(1200):
        try:
            requests.get(f"http://127.0.0.1:{port}/ping", timeout=5).raise_for_status()
            return server, f"http://127.0.0.1:{port}/invocations"
        except requests.ConnectionError:
            time.sleep(0.1)
    raise SystemExit("the endpoint did not start")
def call(endpoint, frame):
    answer = requests.post(endpoint, json={"dataframe_split": frame.to_dict("split")}, timeout=60)
    answer.raise_for_status()
    return np.array(answer.json()["predictions"])
card = fit(FIRST)
first = log(card, FIRST)
registry.set_registered_model_alias("german_credit", "champion", first)
server, endpoint = serve(first)
assert (call(endpoint, known[FIRST]) == card.score(known)).all()
# %% 300 applicants by number, scores equal to the notebook
def score_all(frame, prefix, version, endpoint, features):
    scores = call(endpoint, frame[features])
    for (name, row), one in zip(frame[features].to_dict("index").items(), scores):
        with mlflow.start_span("score") as span:
            span.set_inputs({"applicant": row})
            span.set_outputs(float(one))
            mlflow.update_current_trace(tags={"number": prefix + name, "version": str(version)})
    return scores
scores = score_all(later, "A-", first, endpoint, FIRST)
assert (scores == card.score(later)).all()
# %% second version beside the first, in shadow
successor = fit(SECOND)
second = log(successor, SECOND)
registry.set_registered_model_alias("german_credit", "challenger", second)
beside, shadow_endpoint = serve(second)
champion = score_all(later, "B-", first, endpoint, FIRST)
shadow = score_all(later, "B-", second, shadow_endpoint, SECOND)
# %% promotion with a reason
def decide(version, reason):
    registry.set_registered_model_alias("german_credit", "champion", version)
    registry.set_model_version_tag("german_credit", version, f"decided {pd.Timestamp.now():%Y-%m-%d %H.%M.%S}", reason)
    return serve(version)
server.terminate()
server, endpoint = decide(second, "minutes of the committee, 12 February")
# %% way back with a reason
server.terminate()
server, endpoint = decide(first, "approval rate fell below plan")
assert str(registry.get_model_version_by_alias("german_credit", "champion").version) == str(first)
# %% one score, months later
number = "A-" + later.index[0]
mlflow.flush_trace_async_logging()
found = mlflow.search_traces(filter_string=f"tags.number = '{number}'", return_type="list")[0]
score_then, applicant_then = found.data.response, found.data.request
# %% outcomes and how good the card is
traces = mlflow.search_traces(filter_string=f"tags.version = '{first}'", return_type="list", max_results=1000)
of = {trace.info.tags["number"]: trace for trace in traces if trace.info.tags["number"].startswith("A-")}
for name, one in bad[later.index].items():
    mlflow.log_expectation(trace_id=of["A-" + name].info.trace_id, name="bad", value=int(one))
from sklearn.metrics import roc_auc_score
auc = roc_auc_score(bad[later.index], [-float(of["A-" + name].data.response) for name in later.index])
with mlflow.start_run():
    mlflow.log_metric("auc", auc)
# %% report of a month with drift
import json
month = pd.DataFrame([json.loads(trace.data.request)["applicant"] for trace in of.values()])
def psi(old, new):
    kinds = pd.qcut(old, 10, retbins=True, duplicates="drop")[1][1:-1] if pd.api.types.is_numeric_dtype(old) else None
    group = lambda values: pd.Series(np.digitize(values, kinds)) if kinds is not None else values
    counts = pd.concat([group(one).value_counts(normalize=True) for one in (old, new)], axis=1).fillna(1e-4)
    return ((counts.iloc[:, 1] - counts.iloc[:, 0]) * np.log(counts.iloc[:, 1] / counts.iloc[:, 0])).sum()
drift = {name: psi(known[name], month[name]) for name in FIRST}
with mlflow.start_run():
    mlflow.log_metrics({f"psi {name}": value for name, value in drift.items()})
    mlflow.log_table(month, "month.json")
# %% export to another engine
subprocess.run(["mlflow", "models", "generate-dockerfile", "-m", f"models:/german_credit/{first}", "-d", "docker"], check=True, env={**os.environ, "MLFLOW_TRACKING_URI": "sqlite:///mlflow.db"})
