"""However many answers are lost, each application is logged once."""

from __future__ import annotations

import json
import time
from collections import Counter

import httpx
import pandas as pd

from proxy import LosingProxy
from sample import applicants, expected, specification
from scoreline import Client
from service import Service

BATCH_ROWS = 20


def logged(service: Service, slug: str) -> list[dict[str, object]]:
    """The rows of a deployment in the exported score log."""
    answer = httpx.get(
        f"{service.url}/v1/log/export",
        params={"format": "ndjson", "deployment": slug},
        headers={"authorization": f"Bearer {service.owner}"},
        timeout=60,
    )
    answer.raise_for_status()
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_proxy_that_drops_every_third_answer_makes_no_application_twice(
    service: Service, credentials: dict[str, str]
) -> None:
    with Client(service.url, credentials["token"]) as manager:
        deployed = manager.deploy(specification(name="Storm"))
    frame = applicants().assign(id=lambda rows: "S-" + rows.index)
    proxy = LosingProxy(service.url)
    try:
        with Client(proxy.url, key=credentials["key"]) as client:
            scored = client.score(frame, deployed, batch_rows=BATCH_ROWS)
            singles = [client.score(dict(row), deployed) for _, row in frame.head(20).iterrows()]
    finally:
        proxy.close()
    assert scored["score"].tolist() == expected()["score"].tolist()
    assert proxy.dropped >= 20

    wanted = Counter(frame["id"]) + Counter(frame["id"].head(20))
    rows: list[dict[str, object]] = []
    end = time.monotonic() + 60
    while time.monotonic() < end and len(rows) < wanted.total():
        time.sleep(0.5)
        rows = logged(service, str(deployed.slug))
    assert Counter(str(row["reference"]) for row in rows) == wanted
    answered = {*scored["request_id"], *(one["request_id"] for one in singles)}
    assert {row["request_id"] for row in rows} == answered
    assert pd.Series([row["score"] for row in rows]).notna().all()
