"""A model card is made at the deployment, kept with the model, and read back whole."""

from __future__ import annotations

import datetime
import json
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from outcome import OUTCOMES
from recorded import RecordedScorecard
from sample import fixture, imported_applicants, specification
from scoreline import About, Client, ScorelineError, ValueRefused
from scoreline.measures import auc_of

ABOUT = About(
    purpose="Decides on consumer loans up to 20,000",
    owner="Risk models, A. Ramirez",
    limits="Not for\nbusiness loans",
    outcome="bad",
    date="applied_on",
    notebook="german-credit.ipynb",
)


def sample() -> pd.DataFrame:
    became = pd.read_csv(OUTCOMES, dtype={"id": str}).set_index("id")["bad"]
    frame = imported_applicants()
    days = pd.date_range("2024-01-01", periods=len(frame), freq="6h")
    return frame.assign(bad=became.reindex(frame.index), applied_on=days)


def deployed(client: Client, **said: Any) -> Any:
    recorded = fixture("optbinning-scores.csv")
    return client.deploy(
        RecordedScorecard(),
        sample(),
        name=f"Card {uuid.uuid4().hex}",
        scores=recorded["score"],
        accept_unreached=True,
        about=ABOUT,
        **said,
    )


def test_the_card_says_what_the_model_was_made_of(client: Client, tmp_path: Path) -> None:
    made = deployed(client, description="The first one")
    model = client.model(made)
    assert model.description is not None
    assert model.description.startswith("The first one\n\n# Model card\n")
    assert "applied_on" not in json.dumps(model.spec)
    card = client.model_card(made)
    assert (card.name, card.version, card.sample_size) == (made.name, "1.0.0", 1000)
    assert card.limits == "Not for business loans"
    assert card.sample_from == datetime.date(2024, 1, 1)
    assert card.sample_to == datetime.date(2024, 9, 6)
    frame = sample()
    assert card.bad_rate == frame["bad"].mean()
    scores = fixture("optbinning-scores.csv")["score"].tolist()
    measured = auc_of(scores, (frame["bad"] == 1).tolist())
    assert measured is not None
    assert (card.auc, card.auc_low, card.auc_high) == (measured.auc, measured.low, measured.high)
    assert tuple(card.features) == made.features
    assert card.libraries["pandas"] == pd.__version__
    assert card.git_commit is not None
    assert card.notebook == "german-credit.ipynb"
    assert card.certificate is not None
    assert card.certificate["rows"] == 1000
    card.save(tmp_path / "card.json")
    assert json.loads((tmp_path / "card.json").read_text()) == card.to_dict()
    card.save(tmp_path / "card.md")
    assert "- **Owner:** Risk models, A. Ramirez\n" in (tmp_path / "card.md").read_text()


def test_a_card_is_made_of_a_specification_too_and_asks_for_what_is_not_there(
    client: Client,
) -> None:
    spec = specification(name=f"Card {uuid.uuid4().hex}")
    first = client.deploy(spec)
    with pytest.raises(ScorelineError, match="about=About") as raised:
        client.model_card(first)
    assert raised.value.code == "model_card_not_found"
    second = client.deploy({**spec, "version": "2"}, about=ABOUT)
    card = client.model_card(second)
    assert (card.sample_size, card.auc, card.feature_count) == (None, None, 13)
    long = About(purpose="p", owner="o", limits="x" * 10_000)
    with pytest.raises(ValueRefused, match="10000 at most"):
        client.deploy({**spec, "version": "3"}, about=long)
    absent = About(purpose="p", owner="o", limits="l", outcome="became")
    with pytest.raises(ValueRefused, match="no column 'became'"):
        client.deploy(
            RecordedScorecard(),
            sample(),
            name=f"Card {uuid.uuid4().hex}",
            scores=fixture("optbinning-scores.csv")["score"],
            accept_unreached=True,
            about=absent,
        )
