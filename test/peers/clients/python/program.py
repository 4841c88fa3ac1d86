"""Signs in, deploys, makes a key, scores, reads, with the client that openapi-generator makes."""

import os
import time

import openapi_client as api


def client(token=None):
    return api.ApiClient(api.Configuration(host=os.environ["BASE_URL"], access_token=token))


login = api.LoginRequest(email=os.environ["EMAIL"], password=os.environ["PASSWORD"])
owner = client(api.SessionsApi(client()).auth_login(login).access_token)

age = api.NumericFeature(
    name="age",
    type="numeric",
    bins=[
        api.NumericBin(range="(-Infinity, 25]", points=-12),
        api.NumericBin(range="(25, Infinity)", points=0.1 + 0.2),
    ],
    woe_values=[-0.41, 0.33],
)
purpose = api.CategoricalFeature(
    name="purpose",
    type="categorical",
    bins=[api.CategoricalBin(value="car", points=4)],
    woe_values={"car": 0.2},
)
spec = api.ScorecardSpec(
    name="Consumer loans",
    version="1.0.0",
    target="default_12m",
    base_points=480,
    features=[api.Feature(age), api.Feature(purpose)],
    scaling=api.Scaling(base_score=500, base_odds=20, pdo=20),
    risk_grades=[api.RiskGrade(grade="A", min_score=490, max_score=None)],
)
models = api.ModelsApi(owner)
deployed = models.models_deploy(
    api.DeployRequest(spec=spec, environment=api.Environment.PRODUCTION, auto_deploy=True)
)
slug = deployed.deployment.slug

scopes = [api.KeyScope.SCORE, api.KeyScope.READ]
key = api.APIKeysApi(owner).keys_create(api.CreateKeyRequest(name="a client", scopes=scopes))
server = client(key.key)
scoring = api.ScoringApi(server)
scored = scoring.scoring_score(slug, api.ScoreRequest.from_dict({"age": 35, "purpose": "boat"}))
warning = scored.warnings[0].actual_instance
batch = scoring.scoring_score_batch(
    slug, api.ScoreBatchRequest(records=[{"id": "a-1", "age": 20, "purpose": "car"}])
)
stored = models.models_get(deployed.model_id).spec.features
sql = models.models_export(
    deployed.model_id,
    format=api.ExportFormat.SQL,
    dialect=api.SqlDialect.POSTGRESQL,
    table="applicants",
    key=["id", "branch"],
)
for _ in range(100):
    total = api.DeploymentsApi(server).stats_get(slug, recent=5).summary.total_requests
    if total >= 2:
        break
    time.sleep(0.1)

print(f"score={scored.score!r}")
print(f"warning={warning.type} {warning.variable}")
print(f"batch={batch.results[0].score:g}")
print(f"bins={sum(len(feature.actual_instance.bins) for feature in stored)}")
print(f"sql={str(b'WITH scoreline_values AS' in sql).lower()}")
print(f"total={total}")
