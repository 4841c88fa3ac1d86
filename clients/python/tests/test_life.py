"""A model is found by its name, deployed again, challenged, promoted and taken back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from sample import applicants, expected, specification
from scoreline import Client, ScorelineError, ServiceError, ValueRefused
from service import Service


@pytest.fixture
def admin(service: Service, credentials: dict[str, str]) -> Iterator[Client]:
    with Client(service.url, service.member(), key=credentials["key"]) as made:
        yield made


@pytest.fixture
def owner(service: Service) -> Iterator[Client]:
    with Client(service.url, service.owner) as made:
        yield made


def named(version: str = "1.0", **changes: Any) -> dict[str, Any]:
    """The card of the sample under a name that no other test has."""
    return specification(**{"name": f"Life {uuid.uuid4().hex}", "version": version, **changes})


def counted(client: Client) -> tuple[int, int]:
    return len(client.models()), len(client.deployments())


def test_a_deployment_and_a_model_are_found_by_their_names(client: Client) -> None:
    spec = named()
    deployed = client.deploy(spec)
    found = client.deployment(spec["name"])
    assert (found.slug, found.environment) == (deployed.slug, "staging")
    assert found.champion.model_id == deployed.model_id
    assert found.features == deployed.features
    assert client.deployment(deployed).slug == client.deployment(deployed.slug).slug == found.slug
    model = client.model(spec["name"], "1.0")
    assert model.model_id == deployed.model_id == client.model(spec["name"]).model_id
    assert model.spec == spec
    listed = client.deployments("staging")
    assert list(listed[listed["name"] == spec["name"]]["slug"]) == [deployed.slug]
    models = client.models(name=spec["name"])
    assert list(models["id"]) == [deployed.model_id]
    assert str(models["created_at"].dtype).startswith("datetime64")
    assert client.score(applicants().head(3), found)["score"].notna().all()


def test_what_is_not_there_or_there_twice_is_an_error_that_says_what_to_do(
    client: Client,
) -> None:
    for find in (client.deployment, client.model):
        with pytest.raises(ScorelineError, match="called 'Nobody'") as raised:
            find("Nobody")
        assert raised.value.code.endswith("_not_found")
    spec = named()
    first = client.deploy(spec)
    other = client.deploy({**spec, "base_points": 1}, environment="production")
    with pytest.raises(ScorelineError) as raised:
        client.deployment(spec["name"])
    assert raised.value.code == "several_found"
    assert str(first.slug) in str(raised.value)
    assert client.deployment(spec["name"], "production").slug == other.slug
    with pytest.raises(ScorelineError, match="several_found"):
        client.model(spec["name"], "1.0")
    assert client.model(spec["name"], "1.0", "staging").model_id == first.model_id
    with pytest.raises(ValueRefused, match="'staging' or 'production'"):
        client.deployments("test")


def test_the_same_card_again_is_the_same_model_and_makes_nothing(client: Client) -> None:
    spec = named()
    first = client.deploy(spec)
    before = counted(client)
    again = client.deploy(spec)
    assert (again.is_known, first.is_known) == (True, False)
    assert (again.model_id, again.slug) == (first.model_id, first.slug)
    assert again.endpoint == first.endpoint
    scores = expected()["score"]
    with_frame = client.deploy(spec, applicants(), scores=scores, accept_unreached=True)
    assert with_frame.model_id == first.model_id
    assert with_frame.report is not None
    assert with_frame.report.agrees
    assert counted(client) == before


def test_another_card_under_the_same_name_and_version_is_refused(client: Client) -> None:
    spec = named()
    deployed = client.deploy(spec)
    before = counted(client)
    with pytest.raises(ScorelineError, match="say another version") as raised:
        client.deploy({**spec, "base_points": spec["base_points"] + 1})
    assert raised.value.code == "version_taken"
    assert deployed.model_id in str(raised.value)
    assert counted(client) == before


def test_a_card_that_was_registered_alone_is_not_made_twice(client: Client) -> None:
    spec = named()
    alone = client.deploy(spec, auto_deploy=False)
    again = client.deploy(spec, auto_deploy=False)
    assert (again.model_id, again.is_known, again.slug) == (alone.model_id, True, None)
    with pytest.raises(ScorelineError, match="no deployment has it"):
        client.deploy(spec)


def test_a_challenger_comes_onto_a_deployment_once_and_becomes_the_champion(
    admin: Client,
) -> None:
    spec = named()
    admin.deploy(spec)
    name = spec["name"]
    second = {**spec, "version": "2.0", "base_points": spec["base_points"] + 7}
    deployments = len(admin.deployments())
    challenger = admin.deploy(second, onto=name, shadow=True)
    assert challenger.change is not None
    assert not challenger.change.pending
    at = admin.deployment(name)
    assert at.shadow_mode
    assert [one.model.version for one in at.challengers] == ["2.0"]
    again = admin.deploy(second, onto=name, shadow=True)
    assert (again.model_id, again.change) == (challenger.model_id, None)
    assert len(admin.deployments()) == deployments
    frame = applicants().head(20)
    before = admin.score(frame, at)
    shadow = before[f"shadow_{at.challengers[0].id}_score"]
    assert (shadow - before["score"]).round(9).eq(7).all()
    admin.shadow(name, False)
    assert admin.set_traffic(name, 30).action == "update_traffic"
    assert admin.deployment(name).challengers[0].share == 30
    promoted = admin.promote(name, reason="minutes of 12 February")
    assert promoted.state == "applied"
    assert promoted.wait() is promoted
    assert admin.deployment(name).champion.version == "2.0"
    assert (admin.score(frame, at)["score"] - before["score"]).round(9).eq(7).all()
    # The first cell of a notebook finds the card where it was.
    assert admin.deploy(spec).slug == at.slug
    admin.roll_back(name, reason="approval rate fell")
    assert admin.deployment(name).champion.version == "1.0"
    with pytest.raises(ScorelineError, match="say which with challenger=") as raised:
        admin.promote(name, reason="once more")
    assert raised.value.code == "challenger_not_found"


def test_challengers_are_chosen_by_version_and_removed(admin: Client) -> None:
    spec = named()
    admin.deploy(spec)
    name = spec["name"]
    for version in ("2.0", "3.0"):
        admin.deploy({**spec, "version": version}, onto=name, share=10)
    with pytest.raises(ScorelineError, match="several_found"):
        admin.set_traffic(name, 20)
    admin.set_traffic(name, 20, challenger="3.0")
    assert {one.model.version: one.share for one in admin.deployment(name).challengers} == {
        "2.0": 10,
        "3.0": 20,
    }
    with pytest.raises(ScorelineError) as raised:
        admin.deploy({**spec, "version": "4.0"}, onto=name, shadow=True)
    assert raised.value.code == "live_challengers"
    admin.remove_challenger(name, challenger="2.0")
    assert [one.model.version for one in admin.deployment(name).challengers] == ["3.0"]


def test_a_version_that_was_taken_back_comes_again_when_it_is_activated(admin: Client) -> None:
    spec = named()
    name = spec["name"]
    first = admin.deploy(spec)
    second = {**spec, "version": "2.0", "base_points": spec["base_points"] + 7}
    admin.deploy(second, onto=name, share=10)
    admin.promote(name, reason="as decided")
    admin.roll_back(name, reason="a rehearsal")
    with pytest.raises(ServiceError, match="set it to active first"):
        admin.deploy(second, onto=name, share=10)
    # The newest version of the name is the one that was taken back.
    with pytest.raises(ScorelineError, match=r"versions 1\.0, 2\.0.*client\.deployment") as raised:
        admin.export(name, "spec")
    assert raised.value.code == "several_found"
    assert '"version":"1.0"' in admin.export(admin.deployment(name), "spec").replace(" ", "")
    taken = admin.model(name, "2.0")
    assert taken.status == "archived"
    assert admin.activate(taken).status == "active"
    assert admin.deploy(second, onto=name, share=10).change is not None
    assert admin.archive(taken.model_id).status == "archived"
    assert admin.deployment(name).challengers == ()
    with pytest.raises(ValueRefused, match="a name, an id"):
        admin.challenge(first, None)


def test_what_is_read_and_scored_is_found_by_name(
    client: Client, service: Service, credentials: dict[str, str]
) -> None:
    spec = named()
    name = spec["name"]
    deployed = client.deploy(spec)
    frame = applicants().head(3)
    scored = client.score(frame, name)
    assert scored["score"].tolist() == client.score(frame, deployed)["score"].tolist()
    assert len(client.stats(name).summary) == 1
    assert client.cutoffs(name, 500).cutoffs["cutoff"].tolist() == [500]
    sent = [{"reference": "A-1", "outcome": "good", "as_of": "2026-01-31"}]
    client.outcomes(sent, deployment=name, kind="performance", definition="nothing")
    with (
        Client(service.url, key=credentials["key"]) as scorer,
        pytest.raises(ValueRefused, match=r"is no slug.*with a token"),
    ):
        scorer.score(frame, name)


def test_a_change_waits_for_a_second_person(admin: Client, owner: Client) -> None:
    spec = named()
    admin.deploy(spec, environment="production")
    name = spec["name"]
    admin.deploy({**spec, "version": "2.0"}, onto=name, share=10)
    admin.require_approval(name)
    change = admin.promote(name, reason="as decided")
    assert change.pending
    assert list(owner.change_requests(name)["id"]) == [change.request]
    with pytest.raises(ScorelineError, match="change_waiting"):
        change.wait(0.1)
    assert owner.approve(change, comment="agreed").state == "approved"
    assert change.wait(5).state == "approved"
    assert admin.deployment(name).champion.version == "2.0"
    assert owner.change_requests(name).empty
    back = admin.roll_back(name, reason="a rehearsal")
    owner.decline(back, comment="not today")
    with pytest.raises(ServiceError, match="declined: not today") as raised:
        back.wait(5)
    assert raised.value.code == "change_declined"
    assert set(owner.change_requests(name, state=None)["state"]) == {"approved", "declined"}


def test_a_mistaken_order_is_refused_before_anything_is_registered(client: Client) -> None:
    spec = named()
    client.deploy(spec)
    before = counted(client)
    with pytest.raises(ValueRefused, match="onto="):
        client.deploy({**spec, "version": "2.0"}, shadow=True)
    with pytest.raises(ValueRefused, match="is in staging"):
        client.deploy({**spec, "version": "2.0"}, onto=spec["name"], environment="production")
    with pytest.raises(ScorelineError, match="deployment_not_found"):
        client.deploy({**spec, "version": "2.0"}, onto="Nobody")
    assert counted(client) == before
