"""Cards of each library and kind: applicants equal to the bit, by this client and by command line.

python matrix.py LIBRARY REPORT

It needs the library itself; `check matrix` installs it. A row of the report has the number of
applicants whose score has the same bits as the library's: in the certificate of `check`, in the
answers of the deployed card, and in the certificate of `scoreline import` on the same files.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from outcome import modelled
from scoreline import Client
from scoreline.cards import read_card
from scoreline.cards.card import Words, floats
from scoreline.importing import Said, import_body
from service import ROOT, Service

_OPTIONS = {
    "tool": "--tool",
    "unseen": "--unseen",
    "probabilities": "--probabilities",
    "intercept": "--intercept",
    "base_points": "--base-points",
    "score_column": "--score-column",
}
_SCALE = {"pdo": "--pdo", "base_score": "--base-score", "odds": "--odds", "rate": "--rate"}


class Case(NamedTuple):
    """A fitted card, what is said about it, and the applicants."""

    kind: str
    card: Any
    frame: pd.DataFrame
    said: dict[str, Any]


class Row(NamedTuple):
    """A line of the report."""

    library: str
    kind: str
    features: int
    rows: int
    client: int
    within: int
    ulps: int
    scored: int
    command: int
    verdict: str


def run(library: str, report: Path) -> int:
    cases: Callable[[pd.DataFrame], Iterator[Case]] = importlib.import_module(
        f"cards_{library}"
    ).cases
    version = importlib.metadata.version(library)
    service = Service()
    rows: list[Row] = []
    try:
        with Client(service.url, service.account(), key=service.key()) as client:
            for case in cases(modelled()):
                rows.append(compare(f"{library} {version}", case, client))
                print(" | ".join(map(str, rows[-1])), flush=True)
    finally:
        service.close()
    report.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")
    # A sum in another order may differ in its last bit; everything else must be the same.
    wrong = [row for row in rows if row.client + row.within != row.rows]
    unlike = [row for row in rows if row.command != row.client or row.scored != row.client]
    for row in [*wrong, *unlike]:
        print(f"DIFFERS: {row}", file=sys.stderr)
    return 1 if wrong or unlike else 0


def compare(library: str, case: Case, client: Client) -> Row:
    said = {"name": case.kind, "accept_unreached": True, **case.said}
    checked = client.check(case.card, case.frame, **said)
    certificate = checked.certificate.iloc[0]
    deployed = client.deploy(case.card, case.frame, **said)
    scored = client.score(case.frame, deployed)
    words = {k: v for k, v in case.said.items() if k not in Said.__dataclass_fields__}
    own = {k: v for k, v in case.said.items() if k in Said.__dataclass_fields__}
    fitted = read_card(case.card, Words(words))
    expected = fitted.score(case.frame.reset_index(drop=True)).scores
    same = [a == b for a, b in zip(floats(scored["score"]), expected, strict=True)]
    body = import_body(fitted, case.frame, Said(name=case.kind, **own))
    return Row(
        library=library,
        kind=case.kind,
        features=len(fitted.features),
        rows=int(certificate["rows"]),
        client=int(certificate["equal"]),
        within=int(certificate["within_rounding"]),
        ulps=0 if checked.rounded.empty else int(checked.rounded["ulps"].max()),
        scored=sum(same),
        command=command_line(body),
        verdict=checked.verdict,
    )


def command_line(body: dict[str, Any]) -> int:
    """Import the same with `scoreline import`; returns the rows that are equal to the bit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "card.json").write_text(body["card"])
        (folder / "sample.csv").write_text(body["sample"].text(2**40) or "")
        command = ["src/cli/scoreline.sh", "import", str(folder / "card.json")]
        command += ["--check", str(folder / "sample.csv"), "--out", str(folder / "spec.json")]
        command += ["--certificate", str(folder / "certificate.json")]
        if "splits" in body:
            (folder / "splits.json").write_text(json.dumps(body["splits"]))
            command += ["--splits", str(folder / "splits.json")]
        for field, option in _OPTIONS.items():
            if field in body:
                command += [f"{option}={body[field]}"]
        scaling = body.get("scaling", {})
        for field, option in _SCALE.items():
            if field in scaling:
                command += [f"{option}={scaling[field]}"]
        if scaling:
            command += ["--odds-direction", scaling["odds_direction"]]
        for feature in body.get("categorical", ()):
            command += ["--categorical", feature]
        for category in body.get("comma_categories", ()):
            command += ["--comma-category", category]
        if body.get("comma_categories") == []:
            command += ["--no-comma-categories"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        certificate = json.loads((folder / "certificate.json").read_text())
        return int(certificate["equal"])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], Path(sys.argv[2])))
