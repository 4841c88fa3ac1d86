"""Prints the reports of the matrix as one table: python report.py REPORT_WITHOUT_JSON …"""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: A column for each field of a row of the matrix.
HEADS = {
    "library": "Library",
    "kind": "Card",
    "features": "Features",
    "rows": "Applicants",
    "client": "Equal in the check",
    "within": "Rounding of a sum",
    "ulps": "ulp at most",
    "scored": "Equal when deployed",
    "command": "Equal by command line",
}


def table(paths: list[Path]) -> str:
    rows = [[row[name] for name in HEADS] for path in paths for row in json.loads(path.read_text())]
    lines = [[*HEADS.values()], ["---"] * len(HEADS), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    print(table([found for name in sys.argv[1:] if (found := Path(f"{name}.json")).exists()]))
