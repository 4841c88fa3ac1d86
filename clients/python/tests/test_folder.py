"""The folder of a fitted card brings it into production with the script of the examples."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

from recorded import RecordedScorecard
from sample import fixture, imported_applicants, specification
from scoreline import Client, ValueRefused, init
from scoreline.__main__ import main
from service import ROOT, Service


def options() -> dict[str, Any]:
    return {"scores": fixture("optbinning-scores.csv")["score"], "accept_unreached": True}


def made(folder: Path, name: str, version: str = "2.0") -> Path:
    frame = imported_applicants().assign(surname="Ramirez")
    return init(folder, RecordedScorecard(), frame, name=name, version=version, options=options())


def test_the_folder_holds_the_card_its_columns_and_nothing_else(tmp_path: Path) -> None:
    card = made(tmp_path, "Consumer Loans, online")
    assert card == tmp_path / "cards" / "consumer-loans-online"
    assert sorted(path.name for path in card.iterdir()) == [
        *("card.json", "options.json", "sample.ndjson", "smoke.json"),
    ]
    assert "Ramirez" not in (card / "sample.ndjson").read_text()
    smoke = json.loads((card / "smoke.json").read_text())
    assert None not in smoke["applicant"].values()
    workflow = (tmp_path / ".github" / "workflows" / "scorecard.yml").read_text()
    assert "./deploy.sh cards/consumer-loans-online" in workflow
    assert os.access(tmp_path / "deploy.sh", os.X_OK)
    # What a team has changed in the script stays.
    (tmp_path / "deploy.sh").write_text("mine")
    made(tmp_path, "Consumer Loans, online", "3.0")
    assert (tmp_path / "deploy.sh").read_text() == "mine"
    assert json.loads((card / "options.json").read_text())["version"] == "3.0"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the script needs curl")
def test_the_script_brings_the_card_into_production(
    service: Service, client: Client, tmp_path: Path
) -> None:
    name = f"Folder {uuid.uuid4().hex}"
    champion = client.deploy(
        RecordedScorecard(),
        imported_applicants(),
        name=name,
        version="1.0",
        environment="production",
        scores=options()["scores"],
        accept_unreached=True,
    )
    card = made(tmp_path, name)
    done = subprocess.run(
        [tmp_path / "deploy.sh", card],
        env={
            "PATH": f"{ROOT / 'node_modules' / '.bin'}:{os.environ['PATH']}",
            "SCORELINE_URL": service.url,
            "SCORELINE_TOKEN": service.account("admin"),
            "SCORELINE_KEY": service.key("score", environment="staging"),
            "DEPLOYMENT": str(champion.slug),
            "RELEASE": uuid.uuid4().hex,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    at = client.deployment(champion)
    assert at.shadow_mode
    assert [one.model.version for one in at.challengers] == ["2.0"]


def test_the_command_writes_the_same_folder_and_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "card.pkl"
    spec.write_bytes(pickle.dumps(specification()))
    imported_applicants().to_pickle(tmp_path / "sample.pkl")
    words = ["init", str(tmp_path), "--card", str(spec), "--name", "Loans"]
    assert main([*words, "--sample", str(tmp_path / "sample.pkl"), "--option", "scores=1"]) == 1
    assert main([*words, "--sample", "sample.xlsx"]) == 1
    said = capsys.readouterr().err
    assert "a specification holds everything" in said
    assert ".parquet" in said
    with pytest.raises(ValueRefused, match="fitted card"):
        init(tmp_path, RecordedScorecard(), None, name="Loans", options={"unseen": "missing"})
