"""An Iceberg table shows what the manifests of the archive name, each generation once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from scoreline import ScorelineError
from scoreline.iceberg import register
from service import ROOT

TABLE = "risk.scores"
DAY = "dt=2026-10-05"
ERASED = "A-7"
ROWS = 306


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archives that the service wrote: `before` an erasure, and `store` after it."""
    folder = tmp_path_factory.mktemp("archives")
    node = ROOT / "node_modules" / ".bin" / "node"
    subprocess.run(
        [str(node), "test/peers/archive.ts", str(folder), str(ROWS - 6), ERASED],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=600,
    )
    return folder


@pytest.fixture
def archive(archives: Path, tmp_path: Path) -> Path:
    """The archive before the erasure."""
    return Path(shutil.copytree(archives / "before", tmp_path / "archive"))


class Catalog(SqlCatalog):
    """A catalog on a directory; `rival` works after the next table was loaded."""

    rival: Callable[[], object] | None = None

    def load_table(self, identifier: Any) -> Any:
        found = super().load_table(identifier)
        rival, self.rival = self.rival, None
        if rival:
            rival()
        return found


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    (tmp_path / "warehouse").mkdir()
    made = Catalog("lender", **settings(tmp_path))
    yield made
    made.close()


def settings(folder: Path) -> dict[str, str]:
    return {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": (folder / "warehouse").as_uri()}


def erase(archives: Path, archive: Path) -> None:
    shutil.copytree(archives / "store", archive, dirs_exist_ok=True)


def asked(catalog: Catalog, query: str) -> list[Any]:
    """Ask DuckDB about the rows of the table, which are `log`."""
    rows = catalog.load_table(TABLE).scan().to_arrow()
    with duckdb.connect() as database:
        return database.register("log", rows).sql(query).fetchall()


def test_an_erasure_is_one_commit_after_which_nobody_sees_the_reference(
    archives: Path, archive: Path, catalog: Catalog
) -> None:
    expected = json.loads((archives / "expected.json").read_text())
    question = (
        "select count(*), count(distinct request_id), sum(floor(score * 1e9)::hugeint)::varchar, "
        f"list(distinct dt::varchar), count(*) filter (reference = '{ERASED}') from log"
    )
    wanted = tuple(expected[name] for name in ("rows", "requests", "sum_score", "dt"))
    first = register(archive.as_uri(), catalog, TABLE)
    assert (first.added, first.removed, first.files, first.rows) == (1, 0, 1, ROWS)
    assert asked(catalog, question) == [(*wanted, 1)]

    erase(archives, archive)
    # Who goes by file names sees both generations.
    assert len(list((archive / DAY).glob("*.parquet"))) == 2
    second = register(archive.as_uri(), catalog, TABLE)
    assert (second.added, second.removed, second.files, second.rows) == (1, 1, 1, ROWS)
    table = catalog.load_table(TABLE)
    assert [one.snapshot_id for one in table.snapshots()] == [
        first.snapshot_id,
        second.snapshot_id,
    ]
    assert asked(catalog, question) == [(*wanted, 0)]


def test_a_second_call_without_changes_commits_nothing(archive: Path, catalog: Catalog) -> None:
    register(archive.as_uri(), catalog, TABLE)
    before = catalog.load_table(TABLE).metadata_location
    again = register(f"{archive.as_uri()}/", catalog, TABLE)
    assert (again.added, again.removed, again.files, again.snapshot_id) == (0, 0, 1, None)
    assert catalog.load_table(TABLE).metadata_location == before


def test_the_metadata_keep_no_values_of_the_files(archive: Path, catalog: Catalog) -> None:
    register(archive.as_uri(), catalog, TABLE)
    [task] = catalog.load_table(TABLE).scan().plan_files()
    assert not task.file.lower_bounds
    assert not task.file.upper_bounds


def test_a_day_beyond_retention_leaves_and_a_new_one_with_a_new_column_comes(
    archive: Path, catalog: Catalog
) -> None:
    register(archive.as_uri(), catalog, TABLE)
    [old] = (archive / DAY).glob("*.parquet")
    rows = pq.read_table(old, partitioning=None)
    later = archive / "dt=2026-10-06"
    later.mkdir()
    new = later / "part-00000-g1.parquet"
    pq.write_table(rows.append_column("channel", pa.array(["web"] * ROWS)), new)
    manifest = json.loads((archive / DAY / "_manifest.json").read_text())
    manifest["files"][0]["bytes"] = new.stat().st_size
    (later / "_manifest.json").write_text(json.dumps(manifest))
    register(archive.as_uri(), catalog, TABLE)
    days = "select dt::varchar, channel, count(*) from log group by all order by all"
    assert asked(catalog, days) == [("2026-10-05", None, ROWS), ("2026-10-06", "web", ROWS)]

    shutil.rmtree(archive / DAY)
    assert register(archive.as_uri(), catalog, TABLE).removed == 1
    assert asked(catalog, days) == [("2026-10-06", "web", ROWS)]


def test_who_is_overtaken_registers_nothing(archive: Path, catalog: Catalog) -> None:
    register(archive.as_uri(), catalog, TABLE)
    shutil.copytree(archive / DAY, archive / "dt=2026-10-06")
    catalog.rival = lambda: register(archive.as_uri(), catalog, TABLE)
    with pytest.raises(ScorelineError, match="run it again") as raised:
        register(archive.as_uri(), catalog, TABLE)
    assert raised.value.code == "table_overtaken"
    assert asked(catalog, "select count(*) from log") == [(2 * ROWS,)]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        # A volume that is not mounted must not empty the table.
        (lambda archive: (archive / "_archive.json").unlink(), "archive_unreadable"),
        (lambda archive: (archive / DAY / "_manifest.json").write_text("{"), "archive_unreadable"),
        (
            lambda archive: (archive / DAY / "_manifest.json").write_text(
                '{"version":1,"files":[{"name":"../x.parquet","rows":1,"bytes":1}]}'
            ),
            "archive_unreadable",
        ),
        (
            lambda archive: [one.unlink() for one in (archive / DAY).glob("*.parquet")],
            "archive_changed",
        ),
        (
            lambda archive: (archive / "_archive.json").write_text('{"archive":"another"}'),
            "table_foreign",
        ),
    ],
)
def test_an_archive_with_a_fault_changes_nothing(
    fault: Callable[[Path], object], code: str, archive: Path, catalog: Catalog
) -> None:
    register(archive.as_uri(), catalog, TABLE)
    before = catalog.load_table(TABLE).metadata_location
    fault(archive)
    with pytest.raises(ScorelineError) as raised:
        register(archive.as_uri(), catalog, TABLE)
    assert raised.value.code == code
    assert catalog.load_table(TABLE).metadata_location == before


def test_the_command_registers_and_says_what_it_changed(
    archive: Path, catalog: Catalog, tmp_path: Path
) -> None:
    named = {"type": "sql", **settings(tmp_path)}.items()
    env = {f"PYICEBERG_CATALOG__LENDER__{name.upper()}": value for name, value in named}

    def run(table: str, name: str) -> tuple[int, str]:
        words = ["register-archive", "--archive", archive.as_uri(), "--table", table]
        done = subprocess.run(
            [sys.executable, "-m", "scoreline", *words, "--catalog", name],
            env={**os.environ, **env},
            capture_output=True,
            check=False,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout + done.stderr

    said = f"{TABLE}: 1 files added, 0 removed; it shows 1 files with {ROWS} rows\n"
    assert run(TABLE, "lender") == (0, said)
    assert asked(catalog, "select count(*) from log") == [(ROWS,)]
    code, text = run(TABLE, "unknown")
    assert (code, "the catalog 'unknown' can't be opened" in text) == (1, True)
    code, text = run("scores", "lender")
    assert (code, "say namespace.name" in text) == (1, True)
