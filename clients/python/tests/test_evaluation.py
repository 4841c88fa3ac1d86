"""The client finds the bins and the bits of the service."""

from __future__ import annotations

import math
import uuid

import numpy as np
import pytest

from sample import applicants, specification
from scoreline import Client
from scoreline.evaluation import Card, Found, Value, number_text

ROWS = 1000
NUMBERS = [
    *(0, -0.0, 1, 3.0, -7, 1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 1.5e-7, 2**53),
    *(0.1, 0.30000000000000004, 5e-324, 1.7976931348623157e308, -2.5, 100.25, 1e16),
]


def test_every_bin_and_every_score_is_that_of_the_service(client: Client) -> None:
    spec = {
        "name": f"Bins {uuid.uuid4().hex}",
        "version": "1",
        "target": "bad",
        "base_points": 1 / 3,
        "has_pd": False,
        "features": [
            {
                "name": "x",
                "type": "numeric",
                "bins": [
                    {"range": "[0.3, 0.7)", "points": 0.1},
                    {"range": "(-Infinity, 0.3)", "points": 0.7},
                    {"range": " ( 0.7 , 1e3 ] ", "points": -5.3},
                    {"range": "[2000, 2000]", "points": 11.1},
                ],
            },
            {
                "name": "y",
                "type": "categorical",
                "bins": [
                    {"value": "Missing", "points": -2.2},
                    {"value": "a%,%b, c%,%", "points": 4.4},
                    {"value": "%,%".join(map(number_text, NUMBERS[1:])), "points": 1.9},
                ],
            },
        ],
    }
    random = np.random.default_rng(39)
    edges: list[Value] = [
        0.3,
        0.7,
        1e3,
        2000,
        math.nextafter(0.3, 0),
        math.nextafter(0.7, 1),
        "text",
        None,
    ]
    rows: list[dict[str, Value]] = [
        {
            "x": edges[random.integers(len(edges))] if at % 2 else float(random.normal(0, 900)),
            "y": [*NUMBERS, "a", "b, c", "", "A", "3.0", None][at % (len(NUMBERS) + 6)],
        }
        for at in range(ROWS)
    ]
    scored = client.score(rows, client.deploy(spec), points=True)
    card = Card(spec)
    found = {name: card.find(name, [row[name] for row in rows]) for name in card.features}
    assert card.scores(found, ROWS) == [row["score"] for row in scored]
    for name in card.features:
        points = [row[f"{name}_points"] for row in scored]
        assert [one for _, one in found[name]] == points


def test_the_card_of_the_sample_gives_the_same_bits_and_probabilities(
    client: Client, deployed: object
) -> None:
    frame = applicants()
    card = Card(specification())
    found: dict[str, list[Found]] = {
        name: card.find(name, frame[name].tolist()) for name in card.features
    }
    scored = client.score(frame, deployed)
    scores = card.scores(found, len(frame))
    assert scores == scored["score"].tolist()
    assert [card.pd(score) for score in scores] == pytest.approx(scored["pd"].tolist(), rel=1e-14)
