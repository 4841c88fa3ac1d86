"""A proxy that loses answers, as networks do."""

from __future__ import annotations

import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


def finish(upstream: http.client.HTTPConnection) -> None:
    """Let the service answer, for nobody."""
    upstream.getresponse().read()
    upstream.close()


class LosingProxy:
    """Passes every request on, and drops every third answer.

    In turn a dropped answer is lost before its first byte, in the middle of its body, or while the
    service still works on it.
    """

    def __init__(self, url: str) -> None:
        self.requests = 0
        self.dropped = 0
        self._lock = threading.Lock()
        self._rests: list[threading.Thread] = []
        proxy = self
        target = urlsplit(url)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                way = proxy._next()
                upstream = http.client.HTTPConnection(
                    target.hostname or "", target.port, timeout=60
                )
                sent = {name: value for name, value in self.headers.items() if name != "Host"}
                upstream.request(self.command, self.path, body, sent)
                if way == "early":
                    # The service goes on, and nobody reads what it answers.
                    rest = threading.Thread(target=finish, args=(upstream,))
                    proxy._rests.append(rest)
                    rest.start()
                    self._cut()
                    return
                answer = upstream.getresponse()
                content = answer.read()
                upstream.close()
                if way == "lost":
                    self._cut()
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                if way == "half":
                    self.wfile.write(content[: len(content) // 2])
                    self._cut()
                else:
                    self.wfile.write(content)

            def _cut(self) -> None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for rest in self._rests:
            rest.join()
        self._thread.join()

    def _next(self) -> str:
        """What becomes of the next answer."""
        with self._lock:
            self.requests += 1
            if self.requests % 3 != 0:
                return "passed"
            self.dropped += 1
            return ("lost", "half", "early")[self.dropped % 3]
