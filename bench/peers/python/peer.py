"""Scores by scorecardpy or optbinning, in process and behind FastAPI with uvicorn.

python peer.py SPEC APPLICANTS scorecardpy|optbinning|bare: see ../README.md for what it is asked on its standard input.
"""

import json
import re
import socket
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd

CATEGORY_DELIMITER = "%,%"


def bounds_of(text):
    """Bounds of a range that is closed on the left, as both libraries have them."""
    low, high = re.fullmatch(r"[\[(](.*), (.*)\)", text).groups()
    return float(low), float(high)


class Scorecardpy:
    """The library that the sample card comes from; the card as `scorecard()` returns it."""

    def __init__(self, spec, _applicants):
        import scorecardpy

        self.apply = scorecardpy.scorecard_ply
        rows = [("basepoints", "basepoints", spec["base_points"])]
        for feature in spec["features"]:
            for one in feature["bins"]:
                text = one["value"] if "value" in one else "[{},{})".format(*bounds_of(one["range"]))
                rows.append((feature["name"], text, one["points"]))
        self.card = pd.DataFrame(rows, columns=["variable", "bin", "points"])
        self.points = [feature["name"] + "_points" for feature in spec["features"]]

    def results(self, records):
        scored = self.apply(pd.DataFrame(records), self.card, only_total_score=False, print_step=0)
        scores = scored["score"].tolist()
        points = scored[self.points].to_numpy().tolist()
        return [{"score": score, "points": row} for score, row in zip(scores, points)]


class Optbinning:
    """A scorecard with the bins of the spec. The library can't be handed points, but fits them; so it is fitted to an
    outcome that is of no matter, and its points are then replaced by those of the spec. Its `score` gives scores only."""

    def __init__(self, spec, applicants):
        from optbinning import BinningProcess, Scorecard
        from sklearn.linear_model import LogisticRegression

        features = spec["features"]
        splits = {}
        for feature in features:
            if feature["type"] == "numeric":
                cuts = [bounds_of(one["range"])[1] for one in feature["bins"][:-1]]
            else:
                cuts = np.empty(len(feature["bins"]), dtype=object)
                for at, one in enumerate(feature["bins"]):
                    cuts[at] = one["value"].split(CATEGORY_DELIMITER)
            # Whatever order the made-up outcome gives the bins.
            splits[feature["name"]] = {
                "user_splits": cuts,
                "user_splits_fixed": [True] * len(cuts),
                "monotonic_trend": None,
            }
        process = BinningProcess(
            [feature["name"] for feature in features],
            categorical_variables=[one["name"] for one in features if one["type"] == "categorical"],
            binning_fit_params=splits,
            max_n_prebins=1000,
            min_prebin_size=1e-9,
        )
        self.card = Scorecard(process, LogisticRegression(), scaling_method="min_max",
                              scaling_method_params={"min": 300, "max": 850})
        data = pd.DataFrame(applicants)
        self.card.fit(data, np.arange(len(data)) % 2)
        table = self.card._df_scorecard = self.card._df_scorecard.reset_index(drop=True)
        for feature in features:
            rows = table[(table.Variable == feature["name"]) & ~table.Bin.astype(str).isin(["Special", "Missing"])]
            if len(rows) != len(feature["bins"]):
                raise ValueError(f"optbinning has joined bins of {feature['name']}")
            for at, row in enumerate(rows.index):
                table.loc[row, "Points"] = self.points_of(feature, rows.loc[row, "Bin"], at)
        table.loc[table.Bin.astype(str).isin(["Special", "Missing"]), "Points"] = 0.0
        self.card.intercept_ = float(spec["base_points"])

    @staticmethod
    def points_of(feature, label, at):
        if feature["type"] == "numeric":
            return float(feature["bins"][at]["points"])
        return float(next(one["points"] for one in feature["bins"]
                          if set(one["value"].split(CATEGORY_DELIMITER)) == set(label)))

    def results(self, records):
        return [{"score": score} for score in self.card.score(pd.DataFrame(records)).tolist()]


class Bare:
    """No scoring: what FastAPI takes by itself for as much as the others answer."""

    def __init__(self, spec, _applicants):
        self.answer = {"score": float(spec["base_points"]), "points": [0.0] * len(spec["features"])}

    def results(self, records):
        return [self.answer] * len(records)


def serve(scorer):
    """Starts the server in a thread and returns where it answers."""
    import uvicorn
    from fastapi import Body, FastAPI
    from fastapi.responses import JSONResponse

    app = FastAPI()

    # Not by the pool of threads, which `def` would mean: nothing here waits, and the lock lets one of them run.
    @app.post("/single")
    async def single(applicant: dict = Body()):
        return JSONResponse(scorer.results([applicant])[0])

    @app.post("/batch")
    async def batch(body: dict = Body()):
        return JSONResponse({"results": scorer.results(body["records"])})

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def run(scorer, applicants, ms, at_once):
    """Scores so many at a time for so many milliseconds."""
    start = time.perf_counter()
    scored = 0
    while (time.perf_counter() - start) * 1000 < ms:
        first = scored % len(applicants)
        scorer.results(applicants[first : first + at_once])
        scored += at_once
    return {"applicants": scored, "ms": (time.perf_counter() - start) * 1000}


def main():
    warnings.simplefilter("ignore")
    spec_file, applicants_file, library = sys.argv[1:4]
    with open(spec_file) as file:
        spec = json.load(file)
    with open(applicants_file) as file:
        applicants = json.load(file)
    # What the libraries print is none of the answers.
    answers, sys.stdout = sys.stdout, sys.stderr

    def tell(what):
        print(json.dumps(what), file=answers, flush=True)

    kinds = {"scorecardpy": Scorecardpy, "optbinning": Optbinning, "bare": Bare}
    scorer = kinds[library](spec, applicants)
    scorer.results(applicants[:1])
    tell({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "results":
            tell({"results": scorer.results(applicants)})
        elif order["do"] == "run":
            tell(run(scorer, applicants, order["ms"], order.get("atOnce", 1)))
        elif order["do"] == "serve":
            tell({"url": serve(scorer)})
        else:
            raise ValueError(line)


main()
