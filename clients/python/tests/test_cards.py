"""Cards of four libraries become models with the same scores, or say what they lack."""

from __future__ import annotations

import math
import re
import uuid
from typing import Any

import pandas as pd
import pytest

from recorded import (
    COMMA,
    RecordedPoints,
    RecordedScorecard,
    RecordedToad,
    scorecardpy_card,
)
from sample import applicants, expected, fixture, imported_applicants, specification
from scoreline import CardError, Client, ParityError, ScorelineError, ValueRefused
from scoreline.cards import read_card
from scoreline.cards.card import Words, joined, odds_text

SCALE: dict[str, Any] = {"points0": 600, "odds0": 1 / 19, "pdo": 50}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return imported_applicants()


def faults(error: CardError) -> str:
    return "\n".join(f"{one['path']}: {one['message']}" for one in error.details)


# What scorecardpy, optbinning, toad and skorecard themselves gave the 1,000 applicants.
@pytest.mark.parametrize(
    ("card", "scores", "said", "equal"),
    [
        (scorecardpy_card(), "scorecardpy", {**SCALE, "unseen": "missing"}, 1000),
        (RecordedScorecard(), "optbinning", {}, 1000),
        (RecordedScorecard("optbinning-intercept", 326), "optbinning-intercept", {}, 1000),
        # Recorded by export(decimal=17), which changes the last bit of some scores.
        (RecordedToad(), "toad", {}, 938),
        (RecordedPoints(), "skorecard-advised", {"unseen": "missing"}, 1000),
    ],
)
def test_a_card_gives_each_applicant_the_score_of_its_library(
    client: Client, frame: pd.DataFrame, card: Any, scores: str, said: dict[str, Any], equal: int
) -> None:
    report = client.check(card, frame, scores=fixture(f"{scores}-scores.csv")["score"], **said)
    assert report.agrees
    assert report.certificate["rows"].tolist() == [1000]
    assert report.certificate["equal"].tolist() == [equal]
    assert report.differences.empty
    assert re.match(
        r"AGREES IN SCORES, PROBABILITIES NOT CHECKED(, \d+ OF \d+ BINS NOT REACHED)?: 1000 applic",
        repr(report),
    )


def test_a_score_that_is_not_equal_to_the_bit_says_how_far_off_it_is(
    client: Client, frame: pd.DataFrame
) -> None:
    expected_scores = fixture("toad-scores.csv")["score"]
    report = client.check(RecordedToad(), frame, scores=expected_scores)
    rounded = report.rounded
    assert len(rounded) == report.certificate["within_rounding"].iloc[0] == 62
    assert set(rounded.index) <= set(frame.index)
    given = dict(zip(frame.index, expected_scores, strict=True))
    for label, row in rounded.iterrows():
        assert row["expected_score"] == given[label]
        # Each step is to the next double.
        stepped = row["score"]
        for _ in range(int(row["ulps"])):
            stepped = math.nextafter(stepped, row["expected_score"])
        assert stepped == row["expected_score"] != row["score"]
    most = rounded["ulps"].max()
    assert f"62 within the rounding of a sum (by {most} ulp at most)" in repr(report)


def test_what_to_compare_with_takes_applicants(client: Client) -> None:
    before = len(client.get("/v1/models")["models"])
    scores = expected()["score"]
    with pytest.raises(ValueRefused, match="'scores' is for a comparison, and there is no frame"):
        client.deploy(specification(), scores=scores)
    with pytest.raises(ValueRefused, match="no frame"):
        client.deploy(RecordedScorecard(), name="Never compared", scores=scores)
    with pytest.raises(ValueRefused, match="'pds'"):
        client.check(RecordedScorecard(), None, pds=scores)
    assert len(client.get("/v1/models")["models"]) == before


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"frame": 5}, "are a frame, and not int"),
        ({"frame": [{"age": 1}]}, "are a frame, and not list"),
        ({"scores": "x"}, "numbers, one an applicant"),
        ({"scores": 5}, "numbers, one an applicant"),
        ({"pds": "x"}, "numbers, one an applicant"),
        ({"about": "Decides on loans"}, "is what About"),
        ({"card": {**specification(), "features": [{"type": "numeric"}]}}, "name"),
    ],
)
def test_a_slip_in_a_deployment_is_an_error_of_this_package(
    client: Client, said: dict[str, Any], message: str
) -> None:
    known = {"card": specification(), "frame": applicants(), "scores": expected()["score"]}
    with pytest.raises(ScorelineError, match=message):
        client.deploy(**{**known, **said})


def test_a_checked_card_becomes_an_endpoint_with_its_certificate(
    client: Client, frame: pd.DataFrame
) -> None:
    scores = fixture("scorecardpy-scores.csv")["score"]
    deployed = client.deploy(
        scorecardpy_card(),
        frame,
        name="From scorecardpy",
        scores=scores,
        unseen="missing",
        accept_unreached=True,
        **SCALE,
    )
    assert client.score(frame, deployed)["score"].tolist() == scores.tolist()
    model = client.get(f"/v1/models/{deployed.model_id}")
    assert model["parity"]["equal"] == 1000
    assert deployed.report is not None
    assert deployed.report.agrees


def test_a_card_with_other_scores_is_not_registered(client: Client, frame: pd.DataFrame) -> None:
    scores = fixture("scorecardpy-scores.csv")["score"]
    scores[4] += 10
    said: dict[str, Any] = {"scores": scores, "unseen": "missing", **SCALE}
    report = client.check(scorecardpy_card(), frame, **said)
    assert report.verdict == "DIFFERS"
    assert set(report.differences.index) == {"0005"}
    difference = report.differences["expected_score"] - report.differences["score"]
    assert set(difference) == {10}
    before = len(client.get("/v1/models")["models"])
    with pytest.raises(ParityError, match="1 of 1000") as raised:
        client.deploy(scorecardpy_card(), frame, name="Other scores", **said)
    assert [detail["row"] for detail in raised.value.details] == ["0005"]
    assert set(raised.value.report.differences.index) == {"0005"}
    assert len(client.get("/v1/models")["models"]) == before


def test_each_library_is_asked_in_its_own_words(client: Client, frame: pd.DataFrame) -> None:
    with pytest.raises(CardError) as raised:
        client.check(scorecardpy_card(), frame, points0=600)
    assert faults(raised.value).startswith("odds0: say it: the odds of bad to good at points0")
    with pytest.raises(CardError, match="optbinning has no such word"):
        client.check(RecordedScorecard(), frame, points0=600)
    min_max = RecordedScorecard()
    min_max.scaling_method = "min_max"
    with pytest.raises(CardError, match="probabilities='fit'"):
        client.check(min_max, frame)
    with pytest.raises(CardError, match=r"scoreline\.repaired"):
        client.check(RecordedPoints("skorecard-mixed"), frame)
    with pytest.raises(CardError, match=r"optbinning\.Scorecard"):
        client.check([1, 2], frame)


def test_an_unseen_category_is_asked_for_where_the_library_differs(
    client: Client, frame: pd.DataFrame
) -> None:
    with pytest.raises(CardError) as raised:
        client.check(
            scorecardpy_card(), frame, scores=fixture("scorecardpy-scores.csv")["score"], **SCALE
        )
    assert "say unseen='missing'" in faults(raised.value)


def test_faults_of_a_deployment_say_the_same(client: Client) -> None:
    with pytest.raises(CardError) as raised:
        client.deploy(scorecardpy_card(), name="Unseen", **SCALE)
    assert raised.value.status == 422
    assert raised.value.request_id is not None
    assert "say unseen='missing'" in faults(raised.value)


def test_probabilities_are_compared_where_they_are_known(
    client: Client, frame: pd.DataFrame
) -> None:
    recorded = fixture("skorecard-advised-scores.csv")
    said: dict[str, Any] = {"scores": recorded["score"], "unseen": "missing"}
    report = client.check(RecordedPoints(), frame, pds=recorded["pd"], **said)
    assert report.certificate["pd_rows"].tolist() == [1000]
    assert report.verdict == "AGREES, 1 OF 24 BINS NOT REACHED"
    turned = client.check(RecordedPoints(), frame, pds=1 - recorded["pd"], **said)
    assert turned.verdict == "DIFFERS"


def test_a_target_that_calls_the_good_ones_1_turns_the_odds_over(
    client: Client, frame: pd.DataFrame
) -> None:
    recorded = fixture("skorecard-advised-scores.csv")
    report = client.check(
        RecordedPoints(),
        frame,
        scores=recorded["score"],
        pds=1 - recorded["pd"],
        unseen="missing",
        bad=0,
    )
    assert report.agrees
    assert report.spec is not None
    assert report.spec["scaling"]["pdo"] == -20


def test_a_frame_without_a_column_of_the_card_is_refused(
    client: Client, frame: pd.DataFrame
) -> None:
    with pytest.raises(ValueRefused, match="'housing'"):
        client.check(scorecardpy_card(), frame.drop(columns="housing"), **SCALE)


def test_a_specification_is_checked_with_given_scores(client: Client, frame: pd.DataFrame) -> None:
    from sample import applicants

    scores = expected()["score"]
    spec = specification(name="Edited")
    report = client.check(spec, applicants(), scores=scores)
    assert report.agrees
    assert report.certificate["rows"].tolist() == [1000]
    said: dict[str, Any] = {"scores": scores, "accept_unreached": True}
    deployed = client.deploy(spec, applicants(), auto_deploy=False, **said)
    assert deployed.slug is None
    assert deployed.report is not None
    assert deployed.report.agrees
    with pytest.raises(ParityError) as raised:
        client.deploy(spec, applicants(), scores=scores + 1)
    found = raised.value.report
    assert found.finding.startswith("all 1,000 applicants differ by exactly -1 points: the base")
    page = found._repr_html_()
    assert page.startswith("<p><strong>DIFFERS: 1000 applicants")
    assert page.count("<tr") < 120
    # The picture stands between the verdict and the tables.
    assert page.index("</strong>") < page.index("<svg") < page.index("<h4>")
    assert page.count("<circle") >= 500
    assert "1000 differ" in page
    assert "0 differ" in str(report.picture())
    with pytest.raises(ValueRefused, match="slug"):
        client.score(frame, deployed)


def test_categories_with_a_comma_are_named() -> None:
    read = read_card(RecordedToad(), Words({}))
    assert read.options["comma_categories"] == [COMMA]
    assert joined([["a", "b, c"], ["d"]], ", ", "f") == ["b, c"]
    with pytest.raises(CardError, match="two ways"):
        joined([["a,b"], ["a", "b"]], ",", "f")


@pytest.mark.parametrize(
    ("odds", "text"), [(1 / 19, "1/19"), (1 / 60, "1/60"), (0.05, "1/20"), (50, 50.0)]
)
def test_odds_keep_the_fraction_that_they_are(odds: float, text: float | str) -> None:
    assert odds_text(odds) == text


@pytest.mark.parametrize(
    ("name", "values", "bins"),
    [
        ("home", ["", "own", ""], {"": 7, "own": 1}),
        ("code", [2.0, float("nan"), 3.0], {"2": 7, "3": 1, "Missing": 4}),
        ("home ", ["own", "rent", "own"], {"own": 7, "rent": 1}),
    ],
    ids=["an empty text is a category", "codes are floats", "a name ends with a blank"],
)
def test_a_frame_is_checked_with_the_values_that_it_is_scored_with(
    client: Client, name: str, values: list[Any], bins: dict[str, float]
) -> None:
    spec = {
        "name": f"Typed {uuid.uuid4().hex}",
        "version": "1",
        "target": "bad",
        "base_points": 100,
        "has_pd": False,
        "features": [
            {
                "name": name,
                "type": "categorical",
                "bins": [{"value": value, "points": points} for value, points in bins.items()],
            }
        ],
    }
    frame = pd.DataFrame({name: values})
    texts = ["Missing" if one != one else str(one).removesuffix(".0") for one in values]
    scores = [100 + bins[text] for text in texts]
    report = client.check(spec, frame, scores=scores)
    assert report.verdict == "AGREES, WITHOUT PROBABILITIES"
    deployed = client.deploy(spec, frame, scores=scores)
    assert client.score(frame, deployed)["score"].tolist() == scores


def test_a_card_without_a_scale_gets_one_that_fits_its_probabilities(
    client: Client, frame: pd.DataFrame
) -> None:
    card = RecordedScorecard("optbinning-min-max")
    card.scaling_method = "min_max"
    recorded = fixture("optbinning-min-max-scores.csv")
    said: dict[str, Any] = {"scores": recorded["score"], "pds": recorded["pd"]}
    fitted = client.check(card, frame, probabilities="fit", **said)
    assert fitted.verdict == "AGREES, 3 OF 24 BINS NOT REACHED"
    assert fitted.certificate["pd_fitted"].tolist() == [True]
    without = client.check(card, frame, probabilities="none", **said)
    assert without.verdict == "AGREES, WITHOUT PROBABILITIES, 3 OF 24 BINS NOT REACHED"
