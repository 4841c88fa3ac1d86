"""The log as a stream: each score once, in one order, and where to go on."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from sample import applicants, specification
from scoreline import Client, Deployed, ScorelineError
from service import Service
from waiting import soon


@pytest.fixture
def auditor(service: Service) -> Iterator[Client]:
    with Client(service.url, service.account("auditor")) as made:
        yield made


@pytest.fixture(scope="module")
def scored(service: Service, credentials: dict[str, str]) -> Deployed:
    """An endpoint of its own that has scored 25 applicants."""
    with Client(service.url, credentials["token"], key=credentials["key"]) as client:
        spec = specification(name="Followed", version="1")
        deployed = client.deploy(spec, environment="production")
        client.score(applicants().head(25), deployed)
    return deployed


def test_pages_have_each_score_once_and_go_on_where_they_ended(
    auditor: Client, scored: Deployed
) -> None:
    def read() -> list[str]:
        pages = auditor.decisions(deployment=scored, limit=10_000)
        return [row["request_id"] + str(row["record_index"]) for page in pages for row in page.rows]

    whole = soon(read, lambda found: len(found) == 25)
    assert len(set(whole)) == 25

    found: list[str] = []
    position = "0"
    while True:
        # As after an end between two pages: only the position is left.
        page = next(auditor.decisions(position, deployment=scored, limit=7), None)
        if page is None:
            break
        assert len(page.lines) <= 7
        assert page.expired == 0
        found += [row["request_id"] + str(row["record_index"]) for row in page.rows]
        position = page.position
    assert found == whole


def test_a_position_of_another_log_is_refused(auditor: Client) -> None:
    with pytest.raises(ScorelineError) as refused:
        next(auditor.decisions("999999-1-00000000"))
    assert refused.value.code == "invalid_request"


def test_who_does_not_manage_or_audit_reads_no_page(client: Client) -> None:
    with pytest.raises(ScorelineError) as refused:
        next(client.decisions())
    assert refused.value.code == "insufficient_role"


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        ({}, b"{}\n"),
        ({"x-next-position": "1-1-00000000"}, b"{}\n"),
        ({"x-next-position": "1-1-00000000", "x-expired-scores": "-1"}, b"{}\n"),
        ({"x-next-position": "1-1-00000000", "x-expired-scores": "0"}, b"{}\n{"),
    ],
)
def test_a_page_that_is_not_whole_is_none(headers: dict[str, str], content: bytes) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=headers, content=content)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Client("http://service", "sa_1", http=http) as client:
        with pytest.raises(ScorelineError) as refused:
            next(client.decisions())
        assert refused.value.code == "foreign_answer"
