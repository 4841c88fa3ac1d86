"""Files of applicants are scored by a job, and come back as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from sample import applicants, expected
from scoreline import Client, ConnectionFailed, Deployed, ServiceError, ValueRefused


def test_a_file_gets_the_scores_of_a_frame(
    client: Client, deployed: Deployed, tmp_path: Path
) -> None:
    frame = applicants()
    path, out = tmp_path / "portfolio.csv", tmp_path / "scores.ndjson"
    frame.assign(branch="north").to_csv(path, index_label="number")
    batch = client.batch_file(path, deployed, out, reference="number", points=True)
    assert (batch.status, batch.scored, batch.errors) == ("done", 1000, 0)
    assert batch.unknown_columns == ("branch",)
    scored = pd.read_json(out, lines=True, dtype={"id": str}).set_index("id")
    wanted = expected()
    assert scored.index.tolist() == wanted.index.tolist()
    assert scored["score"].tolist() == wanted["score"].tolist()
    assert not out.with_name("scores.ndjson.part").exists()
    listed = client.batches()
    assert listed.set_index("id").loc[batch.id, "scored"] == 1000


def test_lines_that_are_not_scored_are_a_file_of_their_own(
    client: Client, deployed: Deployed, tmp_path: Path
) -> None:
    rows = [{"id": "E-1", **applicants().iloc[0]}, {"id": "E-2", "credit_amount": True}]
    path, out, errors = (tmp_path / name for name in ("in.jsonl", "out.csv", "errors.ndjson"))
    path.write_text("".join(json.dumps(row, default=float) + "\n" for row in rows))
    started = client.batch_start(path, deployed, results="csv")
    batch = client.batch_results(started.id, out, errors=errors, progress=False)
    assert (batch.scored, batch.errors) == (1, 1)
    assert pd.read_csv(out)["score"].tolist() == expected()["score"].head(1).tolist()
    fault = json.loads(errors.read_text())
    assert (fault["line"], fault["id"]) == (2, "E-2")


# Such a number is a text, and every applicant gets a score without it.
def test_a_file_with_decimal_commas_is_warned_of(
    client: Client, deployed: Deployed, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    frame = applicants().head(20).astype({"credit_amount": float})
    frame.to_csv(path, index_label="number", sep=";", decimal=",")
    batch = client.batch_file(path, deployed, out, reference="number")
    assert batch.warned == 20
    (warning,) = batch.warnings
    assert warning.startswith("credit_amount: 20 of 20 values match no bin")


def test_a_file_that_fails_is_an_error_with_the_batch(
    client: Client, deployed: Deployed, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text("nobody,knows\n1,2\n")
    with pytest.raises(ServiceError) as raised:
        client.batch_file(path, deployed, out)
    assert raised.value.scored.status == "failed"
    assert raised.value.scored.id in raised.value.message
    assert raised.value.code != "job_failed"


def test_names_that_say_no_format_and_deployments_of_nobody_are_refused(
    client: Client, deployed: Deployed, tmp_path: Path
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("age\n1\n")
    with pytest.raises(ValueRefused, match=r"'out\.xlsx' ends in none of \.csv"):
        client.batch_file(path, deployed, "out.xlsx")
    with pytest.raises(ValueRefused, match="no folder"):
        client.batch_file(path, deployed, tmp_path / "absent" / "out.csv")
    with pytest.raises(ServiceError) as raised:
        client.batch_start(path, "dep_of_nobody")
    assert raised.value.code == "deployment_not_found"
    with pytest.raises(FileNotFoundError):
        client.batch_start(tmp_path / "absent.csv", deployed)


def scripted(answer: Any) -> Client:
    http = httpx.Client(transport=httpx.MockTransport(answer))
    client = Client("http://service", key="sk_1", http=http)
    client._transport._sleep = lambda _: None
    return client


# A file that is sent twice is scored twice.
def test_a_file_is_sent_once(tmp_path: Path) -> None:
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.read())
        raise httpx.ReadError("cut")

    path = tmp_path / "in.csv"
    path.write_text("age\n1\n")
    with pytest.raises(ConnectionFailed):
        scripted(answer).batch_start(path, "dep_1")
    assert sent == [b"age\n1\n"]


def test_results_that_break_off_are_read_again_and_are_there_when_they_are_whole(
    tmp_path: Path,
) -> None:
    counts = {"scored": 1, "errors": 0, "warned": 0}
    batch = {
        **{"id": "job_1", "status": "done", "deployment_id": "dep_1", "cache_version": 1},
        **{"counts": counts, "unknown_columns": [], "warnings": []},
        **{"progress": {"done": 1, "total": 1}},
    }
    out = tmp_path / "out.csv"
    tries: list[bool] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/results"):
            return httpx.Response(200, json=batch)
        tries.append(out.exists())
        if len(tries) == 1:
            return httpx.Response(200, stream=Broken())
        return httpx.Response(200, content=b"score\n1\n")

    scripted(answer).batch_results("job_1", out)
    assert out.read_bytes() == b"score\n1\n"
    assert tries == [False, False]


class Broken(httpx.SyncByteStream):
    def __iter__(self) -> Any:
        yield b"score\n"
        raise httpx.ReadError("cut")
