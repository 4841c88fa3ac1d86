"""Starts the service of this checkout on an embedded database; needs nothing but Python.

As a program it runs a command beside the service: python service.py COMMAND …
The command finds SCORELINE_URL, SCORELINE_TOKEN (a service account), SCORELINE_KEY, and two people,
SCORELINE_ADMIN and SCORELINE_SECOND.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
OWNER = {"email": "owner@lender.example", "password": "a long enough password"}
_START_SECONDS = 240


class Service:
    """A process of the service with an owner; ends with `close`."""

    def __init__(self, **settings: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="scoreline-python-")
        self._log = Path(self._folder, "log")
        node = ROOT / "node_modules" / ".bin" / "node"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(node) if node.exists() else "node", "src/server.ts"],
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    "PATH": os.environ["PATH"],
                    "PORT": "0",
                    "LOG_LEVEL": "warn",
                    "DATA_DIR": str(Path(self._folder, "data")),
                    "BOOTSTRAP_OWNER_EMAIL": OWNER["email"],
                    "BOOTSTRAP_OWNER_PASSWORD": OWNER["password"],
                    "RATE_LIMIT_PER_MINUTE": "1000000",
                    **settings,
                },
            )
        self.url = self._wait()
        self.owner = str(self.post("/api/auth/login", OWNER)["access_token"])

    def account(self, role: str = "lead_modeler") -> str:
        """The token of a new service account."""
        body = {"name": "a notebook", "role": role}
        return str(self.post("/v1/service-accounts", body, self.owner)["token"])

    def member(self, role: str = "admin") -> str:
        """The access token of a new member, whose requests the owner may approve."""
        own = {"email": f"{uuid.uuid4().hex}@lender.example", "password": OWNER["password"]}
        self.post("/v1/members", {**own, "role": role}, self.owner)
        return str(self.post("/api/auth/login", own)["access_token"])

    def key(self, *scopes: str, **fields: Any) -> str:
        """The secret of a new API key, which scores and reads if no scope is named."""
        body = {"name": "a notebook", "scopes": list(scopes) or ["score", "read"], **fields}
        return str(self.post("/v1/keys", body, self.owner)["key"])

    def post(self, path: str, body: object, token: str = "") -> Any:
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json", "authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self) -> str:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            found = re.search(r"answers at (http://\S+)", self._log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        text = self._log.read_text()
        self.close()
        raise RuntimeError(f"the service did not start:\n{text}")


def main(command: list[str]) -> int:
    service = Service()
    try:
        env = {
            **os.environ,
            "SCORELINE_URL": service.url,
            "SCORELINE_TOKEN": service.account(),
            "SCORELINE_KEY": service.key(),
            # An admin who asks for changes, and the owner who approves them.
            "SCORELINE_ADMIN": service.member(),
            "SCORELINE_SECOND": service.owner,
        }
        return subprocess.run(command, env=env, check=False).returncode
    finally:
        service.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
