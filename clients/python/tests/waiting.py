"""Waiting for what the score log shows up to two seconds after the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from scoreline import ServiceError

Found = TypeVar("Found")


def soon(read: Callable[[], Found], is_there: Callable[[Found], bool]) -> Found:
    """Read until it is there; returns or raises what was found last after 60 seconds."""
    end = time.monotonic() + 60
    while True:
        try:
            found = read()
            if is_there(found) or time.monotonic() > end:
                return found
        except ServiceError:
            if time.monotonic() > end:
                raise
        time.sleep(0.2)
