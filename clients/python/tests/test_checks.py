"""A sample of any size is compared with its card, and registers it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scoreline import Client, ParityError, checks

ROWS = 150_000
SPEC: dict[str, Any] = {
    "name": "Large sample",
    "version": "1.0",
    "target": "default_12m",
    "base_points": 431.7,
    "has_pd": False,
    "features": [
        {
            "name": "utilisation",
            "type": "numeric",
            "bins": [
                {"range": "(-Infinity, 0.3)", "points": 21.4},
                {"range": "[0.3, 0.8)", "points": 3.1},
                {"range": "[0.8, Infinity)", "points": -17.9},
                {"range": "Missing", "points": -4.2},
            ],
        },
        {
            "name": "score",
            "type": "numeric",
            "bins": [
                {"range": "(-Infinity, 500]", "points": -8.8},
                {"range": "(500, Infinity)", "points": 12.6},
            ],
        },
        {
            "name": "tenure",
            "type": "categorical",
            "bins": [
                {"value": "", "points": 0.7},
                {"value": "owner", "points": 6.5},
                {"value": "rents ", "points": -2.3},
                {"value": "Missing", "points": -9.1},
            ],
        },
    ],
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Applicants whose index starts anywhere, one feature of whom is called score."""
    random = np.random.default_rng(33)
    made = pd.DataFrame(
        {
            "utilisation": random.choice([0.1, 0.3, 0.5, 0.8, 1.2, np.nan], ROWS),
            "score": random.choice([400.5, 500, 500.0001, 650], ROWS),
            "tenure": random.choice(np.array(["", "owner", "rents ", None], dtype=object), ROWS),
            "unused": "x" * 10,
        }
    )
    made.index = pd.Index(range(7, ROWS + 7))
    return made


@pytest.fixture(scope="module")
def scores(frame: pd.DataFrame) -> list[float]:
    """Added up here in the order of the card, as an own model of it."""
    utilisation, bureau, tenure = (frame[name] for name in ("utilisation", "score", "tenure"))
    first = np.select(
        [utilisation.isna(), utilisation < 0.3, utilisation < 0.8], [-4.2, 21.4, 3.1], -17.9
    )
    second = np.where(bureau <= 500, -8.8, 12.6)
    third = tenure.map({"": 0.7, "owner": 6.5, "rents ": -2.3}).astype(float).fillna(-9.1)
    return list(431.7 + first + second + third.to_numpy())


def jobs_of(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that the client calls from now on."""
    paths: list[str] = []
    send = client._transport.send

    def noting(call: Any) -> Any:
        paths.append(call.path)
        return send(call)

    monkeypatch.setattr(client._transport, "send", noting)
    return paths


def test_a_large_frame_agrees_to_the_bit_and_becomes_the_development_sample(
    client: Client, frame: pd.DataFrame, scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_SAMPLE_BYTES_MAX", 1_000_000)
    paths = jobs_of(client, monkeypatch)
    deployed = client.deploy(SPEC, frame, scores=scores, environment="staging", progress=False)
    assert "/v1/models/checks" in paths
    assert "/v1/models/import" not in paths
    report = deployed.report
    assert report is not None
    assert report.certificate["equal"].tolist() == [ROWS]
    stored = client.get(f"/v1/models/{deployed.model_id}")
    assert stored["parity"]["sample_sha256"] == report.certificate["sample_sha256"].iloc[0]
    stability = client.get(f"/v1/deployments/{deployed.slug}/stability")
    assert stability["baseline"]["n"] == ROWS


def test_a_large_and_a_small_sample_say_the_same(
    client: Client, frame: pd.DataFrame, scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = frame.head(5_000)
    small = client.check(SPEC, part, scores=scores[:5_000])
    monkeypatch.setattr(checks, "_SAMPLE_BYTES_MAX", 1_000)
    large = client.check(SPEC, part, scores=scores[:5_000], progress=False)
    assert repr(large) == repr(small)
    pd.testing.assert_frame_equal(large.certificate, small.certificate)


def test_one_applicant_in_many_who_differs_is_named_and_nothing_is_registered(
    client: Client, frame: pd.DataFrame, scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_SAMPLE_BYTES_MAX", 1_000_000)
    wrong = [*scores]
    wrong[123_456] += 0.5
    before = len(client.get("/v1/models")["models"])
    paths = jobs_of(client, monkeypatch)
    with pytest.raises(ParityError, match=f"1 of {ROWS} applicants differ") as caught:
        client.deploy(SPEC, frame, scores=wrong, progress=False)
    assert paths.count("/v1/models/checks") == 1
    assert set(caught.value.report.differences.index) == {frame.index[123_456]}
    assert len(client.get("/v1/models")["models"]) == before
