"""Deploys the card of the demo and scores its applicants; needs the client and nothing else.

SCORELINE_URL, SCORELINE_TOKEN and SCORELINE_KEY say where and as whom.
"""

import json
from pathlib import Path

from scoreline import Client

folder = Path(__file__).resolve().parents[3] / "src" / "cli" / "demo" / "german-credit"
spec = json.loads((folder / "spec.json").read_text())
applicants = json.loads((folder / "applicants.json").read_text())

client = Client()
deployed = client.deploy(spec)
scores = client.score([one["applicant"] for one in applicants], deployed)

wrong = [one for one, got in zip(applicants, scores) if got["score"] != one["score"]]  # noqa: B905
print(f"{deployed.endpoint} scored {len(scores)} applicants; {len(wrong)} differ from scorecardpy")
raise SystemExit(1 if wrong else 0)
