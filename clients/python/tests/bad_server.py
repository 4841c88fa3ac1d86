"""A server that answers as a test says, over real connections."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scripted import HEAD, WANTED, result

JSON = "application/json; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """What the server sends back."""

    body: bytes = b""
    status: int = 200
    kind: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    #: Seconds between two bytes.
    drip: float = 0.0


def answered(body: Any, **fields: Any) -> Reply:
    return Reply(body if isinstance(body, bytes) else json.dumps(body).encode(), **fields)


def zipped(body: bytes) -> Reply:
    return Reply(gzip.compress(body), headers={"content-encoding": "gzip"})


def sound(request: Any, number: int) -> Any:
    """What the service answers to a score or a batch."""
    head = {**HEAD, "request_id": f"req_{number}"}
    if "records" not in request:
        return {**head, **result(request)}
    return {**head, "results": [{"id": r.get("id"), **result(r)} for r in request["records"]]}


#: Receives a request, and its number from 0 on.
Answer = Callable[[Any, int], Reply]


@contextmanager
def bad_server(answer: Answer) -> Iterator[tuple[str, list[Any]]]:
    """Serve; yields the URL, and the requests, each with its headers and its body."""
    requests: list[Any] = []
    schema = {"properties": {name: {"type": "number"} for name in WANTED}, "required": []}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(answered(schema))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append({"headers": self.headers, "body": body})
            self._reply(answer(body, len(requests) - 1))

        def _reply(self, reply: Reply) -> None:
            self.send_response(reply.status)
            if reply.status != 204:
                self.send_header("content-type", reply.kind)
                self.send_header("content-length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                if reply.drip == 0:
                    self.wfile.write(reply.body)
                for at in range(len(reply.body) if reply.drip else 0):
                    self.wfile.write(reply.body[at : at + 1])
                    time.sleep(reply.drip)
            except OSError:
                # The client has gone, which is what a test wants.
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
