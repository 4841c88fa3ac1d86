"""Progress of a long run: tqdm where the caller has it, a plain line otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_SECONDS_BETWEEN = 0.2


class Progress:
    """Counts applicants. Use it as a context manager."""

    def __init__(self, total: int | None, *, is_shown: bool) -> None:
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._printed = 0.0
        self._bar = _tqdm(total) if is_shown else None
        self._is_plain = is_shown and self._bar is None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._is_plain and self._done:
            self._print()
            sys.stderr.write("\n")

    def add(self, count: int) -> None:
        """Count applicants that are done."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._is_plain and time.monotonic() - self._printed > _SECONDS_BETWEEN:
            self._print()

    def show(self, done: int, total: int) -> None:
        """Show a count of somebody else, whose total is 0 at first, and then an estimate."""
        self._total = total or None
        if self._bar is not None:
            self._bar.total = self._total
        self.add(max(0, done - self._done))

    def _print(self) -> None:
        self._printed = time.monotonic()
        sys.stderr.write(
            "\r" + progress_text(self._done, self._total, self._printed - self._started)
        )
        sys.stderr.flush()


def progress_text(done: int, total: int | None, seconds: float) -> str:
    """Say how many applicants are done, how fast, and how long the rest takes."""
    rate = done / seconds if seconds > 0 else 0.0
    of = f" of {total:,}" if total is not None else ""
    left = f", {max(0, total - done) / rate:.0f} s left" if total is not None and rate else ""
    return f"{done:,}{of} applicants, {rate:,.0f} a second{left}   "


def is_wanted(wanted: bool | None, total: int | None, batch_rows: int) -> bool:
    """Decide whether to show progress; by itself in a terminal or notebook, for several batches."""
    is_long = total is None or total > batch_rows
    return is_watched(wanted) and (wanted is not None or is_long)


def is_watched(wanted: bool | None) -> bool:
    """Decide whether to show the progress of a job; by itself in a terminal or notebook."""
    if wanted is not None:
        return wanted
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _tqdm(total: int | None) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="applicants", unit_scale=False)
