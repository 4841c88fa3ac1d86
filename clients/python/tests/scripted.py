"""A service of a few lines, which notes what it gets and can fail where a test says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from scoreline import Client, Retries

#: What the service takes unless its operator says otherwise.
BODY_BYTES_MAX = 16 * 1024 * 1024

#: Features of its deployment.
WANTED = ("age", "text", *(f"feature_{n}" for n in range(100)))


class ScriptedService:
    """Answers scores, refuses bodies above a limit, and fails as it is told.

    Attributes:
        bodies: of every batch that was answered, by its idempotency key.
        refused: how many bodies were too large.

    """

    def __init__(
        self,
        bytes_max: int = BODY_BYTES_MAX,
        fail: Callable[[list[str]], httpx.Response | httpx.TransportError | None] | None = None,
    ) -> None:
        self.bodies: dict[str, bytes] = {}
        self.requests: list[httpx.Request] = []
        self.refused = 0
        self.fail = fail
        self.answer_padding = 0
        self._bytes_max = bytes_max

    def client(self) -> Client:
        http = httpx.Client(transport=httpx.MockTransport(self._answer))
        client = Client("http://service", key="sk_1", http=http, retries=Retries(attempts=3))
        client._transport._sleep = lambda _: None
        return client

    def batches(self) -> list[list[dict[str, Any]]]:
        """The records of all batches that were answered, in their order."""
        return [json.loads(body)["records"] for body in self.bodies.values()]

    def headers(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/schema"):
            properties = {name: {"type": "number"} for name in WANTED}
            schema = {"properties": properties, "required": []}
            return httpx.Response(200, json=schema, headers={"etag": '"1"'})
        self.requests.append(request)
        if len(request.content) > self._bytes_max:
            self.refused += 1
            return error(413, "payload_too_large")
        body = json.loads(request.content)
        if request.url.path == "/v1/outcomes":
            results = [{"index": at, "status": "accepted"} for at, _ in enumerate(body["outcomes"])]
            return httpx.Response(200, json={"results": results})
        if "records" not in body:
            return httpx.Response(200, json={**result(body), **HEAD})
        names = [str(record.get("id")) for record in body["records"]]
        failure = None if self.fail is None else self.fail(names)
        if isinstance(failure, httpx.TransportError):
            raise failure
        if failure is not None:
            return failure
        key = request.headers["idempotency-key"]
        # The service refuses another body with the same key, and so does this one.
        assert self.bodies.get(key, request.content) == request.content
        self.bodies[key] = request.content
        results = [{"id": record.get("id"), **result(record)} for record in body["records"]]
        head = {**HEAD, "request_id": f"req_{key}"}
        padding = " " * self.answer_padding * len(results)
        return httpx.Response(200, json={"results": results, **head, "padding": padding})


HEAD = {"model_version": "1", "request_id": "req_1"}


def result(record: dict[str, Any]) -> dict[str, Any]:
    """A score that shows which applicant it is of."""
    score = float(len(json.dumps(record)))
    return {"score": score, "pd": 0.5, "risk_grade": None, "warnings": [], "contributions": {}}


def error(status: int, code: str) -> httpx.Response:
    body = {"error": code, "message": "no", "request_id": "req_2"}
    return httpx.Response(status, json=body)
