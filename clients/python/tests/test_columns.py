"""COLUMNS.md names each column of each frame."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from outcome import OUTCOMES
from sample import applicants, expected, specification
from scoreline import Client, Frames
from service import ROOT, Service
from waiting import soon

TABLE = ROOT / "clients" / "python" / "COLUMNS.md"


@pytest.fixture(scope="module")
def admin(service: Service) -> Iterator[Client]:
    with Client(service.url, service.member(), key=service.key()) as made:
        yield made


def named(frames: dict[str, pd.DataFrame], call: str) -> dict[str, list[str]]:
    return {f"{call}.{name}": list(map(str, frame.columns)) for name, frame in frames.items()}


def answered(admin: Client) -> dict[str, list[str]]:
    """The columns of what each call answers for a deployment that has everything."""
    name = f"Columns {uuid.uuid4().hex}"
    spec = specification(name=name, reasons={"version": 1, "method": "max"})
    frame = applicants().assign(number="C-" + applicants().index)
    scores = expected()["score"]
    deployed = admin.deploy(spec, frame, scores=scores, accept_unreached=True)
    second = {**spec, "version": "2.0"}
    admin.deploy(second, onto=name, shadow=True)
    scored = admin.score(frame, deployed, reference="number")
    soon(lambda: admin.find("C-1000"), lambda rows: len(rows) == 1)
    admin.define_outcome("col", label="c", window_months=12, bad_rule_text="c", maturity_months=0)
    bad = pd.read_csv(OUTCOMES, dtype={"id": str}).set_index("id")["bad"].reindex(frame.index)
    became = pd.DataFrame({"reference": frame["number"], "outcome": bad.map({1: "bad", 0: "good"})})
    became["event_date"] = bad.map({1: "2026-03-01", 0: None})
    sent = admin.outcomes(
        became, deployment=deployed, kind="performance", definition="col", as_of="2026-10-01"
    )
    entry = admin.deployment(deployed).challengers[0].id
    month = pd.Timestamp.now("UTC").strftime("%Y-%m")
    first = str(scored["request_id"].iloc[0])
    tried: dict[str, Any] = {
        "frame": frame.assign(bad=bad),
        "reference": "number",
        "outcome": "bad",
    }
    single = {
        "deployments": admin.deployments(),
        "models": admin.models(name=name),
        "change_requests": admin.change_requests(),
        "overview": admin.overview(),
        "outcomes": sent,
        "read": admin.read(first, record=0),
        "find": admin.find("C-1000"),
        "stats_series": admin.stats_series(deployed),
        "vintages": admin.vintages(deployed, "col"),
        "batches": admin.batches(),
    }
    several: dict[str, Frames] = {
        "check": admin.check(spec, frame, scores=scores),
        "explain": admin.explain(first, record=0, cutoff=500),
        "reasons": admin.reasons(deployed),
        "stats": admin.stats(deployed),
        "stability": admin.stability(deployed),
        "stability_series": admin.stability_series(deployed, interval="day"),
        "performance": admin.performance(deployed, "col"),
        "cutoffs": admin.cutoffs(deployed, 500),
        "swap_set": admin.swap_set(deployed, entry, 500),
        "migration": admin.migration(deployed, entry),
        "monthly_report": admin.monthly_report(name, month, definition="col"),
        "alarm": admin.alarm(deployed),
        "backtest (frame)": admin.backtest(second, deployed, cutoffs=[500], **tried),
        "backtest": admin.backtest(second, deployed, cutoffs=[500]),
        "replay": admin.replay(deployed),
    }
    found = {call: list(map(str, frame.columns)) for call, frame in single.items()}
    for call, frames in several.items():
        found.update(named(frames, call))
    return {call: columns for call, columns in found.items() if columns}


def documented() -> dict[str, list[str]]:
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", TABLE.read_text(), re.MULTILINE)
    return {call: re.findall(r"`([^`]+)`", columns) for call, columns in rows}


def test_the_table_names_each_column_of_each_frame(admin: Client) -> None:
    assert answered(admin) == documented()
