"""The score log as a stream: pages in the order in which it was stored, each score once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .answers import Answer, foreign
from .connection import given
from .registry import Registry
from .transport import Call

#: Reads a page that is in the archive, too.
_PAGE_SECONDS = 120.0


@dataclass(frozen=True)
class DecisionPage:
    """Scores that follow each other in the log.

    Attributes:
        lines: a row for each applicant and model, as JSON; docs/evidence.md has the columns.
        position: behind the page; keep it together with what you did with the page.
        expired: scores that the page passes over, because they left the log with their retention.

    """

    lines: tuple[bytes, ...]
    position: str
    expired: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [json.loads(line) for line in self.lines]


class Decisions(Registry):
    """Follows the score log; a part of `Client`."""

    def decisions(
        self, after: str = "0", *, deployment: Any = None, limit: int = 1_000
    ) -> Iterator[DecisionPage]:
        """Read the scores after a position, in the order in which they were stored.

        The order and the positions never change. Who stores `position` in one step with the page
        has each score exactly once. The token is of an owner, admin or auditor.

        Args:
            after: `position` of the page that was stored last; `"0"` is before the first score.
            deployment: only its scores; its name or slug, or what `deploy` returned.
            limit: scores that a page looks at, at most 10,000.

        Yields:
            Pages until nothing is newer; a page can be without rows. Ask again after some seconds.

        Raises:
            ServiceError: `invalid_request` for a position of another log, or of one that was set
                back since; `unavailable` where the next score can't be read, which is never left
                out.

        """
        slug = None if deployment is None else self._slug(deployment)
        while True:
            page = self._page(given(after=after, deployment=slug, limit=limit))
            if page.position == after:
                return
            yield page
            after = page.position

    def _page(self, params: dict[str, Any]) -> DecisionPage:
        call = Call(
            "GET",
            "/v1/log/export",
            self._manager(),
            params=params,
            timeout_seconds=_PAGE_SECONDS,
        )
        answer = self._transport.send(call)
        position = answer.headers.get("x-next-position", "")
        expired = answer.headers.get("x-expired-scores", "")
        if not position or not expired.isdecimal():
            raise foreign(answer, "lacks its position in the log")
        return DecisionPage(_lines_of(answer), position, int(expired))


def _lines_of(answer: Answer) -> tuple[bytes, ...]:
    """Split a page, whose last line ends as all others do."""
    if answer.content and not answer.content.endswith(b"\n"):
        raise foreign(answer, "is not whole")
    return tuple(answer.content.splitlines())
