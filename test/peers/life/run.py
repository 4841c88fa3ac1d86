"""Runs a model's life with one tool, and counts lines and seconds of each step.

    python run.py with_scoreline.py|with_vetiver.py|with_mlflow.py

Lines are those that are neither empty nor a comment. It works in a folder that is removed at the end.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

here = Path(__file__).resolve().parent
script = here / sys.argv[1]
sys.path.insert(0, str(here))
os.environ["PYTHONPATH"] = os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])
names = {}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    import model  # noqa: F401  reads the data and loads scikit-learn, the same for all

    for cell in re.split(r"^# %% ", script.read_text(), flags=re.M)[1:]:
        title, _, code = cell.partition("\n")
        lines = sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in code.splitlines())
        start = time.monotonic()
        exec(compile(code, f"{script.name}: {title}", "exec"), names)
        print(f"| {title} | {lines} | {time.monotonic() - start:.1f} s |", flush=True)
    os.chdir(here)
