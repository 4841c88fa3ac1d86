"""Prints the reports of the matrix as one table: python report.py REPORT_WITHOUT_JSON …"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HEADS = ("Library", "Card", "Features", "Applicants", "Equal: client", "rounding of a sum")
ALL_HEADS = (*HEADS, "Equal: deployed", "Equal: command line", "Verdict")


def table(paths: list[Path]) -> str:
    rows = [row.values() for path in paths for row in json.loads(path.read_text())]
    lines = [ALL_HEADS, ["---"] * len(ALL_HEADS), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    print(table([found for name in sys.argv[1:] if (found := Path(f"{name}.json")).exists()]))
