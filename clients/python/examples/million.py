"""Scores applicants where they lie: the exported SQL in Spark or DuckDB, from Parquet to Parquet.

python million.py (spark | duckdb) FOLDER [APPLICANTS [COMPARED]]

It makes 1,000,000 applicants, lets the engine score all of them, and compares 10,000 of the written
scores with what the service answers for the same applicants. It ends with 1 where a bit differs.
SCORELINE_URL, SCORELINE_TOKEN and SCORELINE_KEY say where the service is.
"""

import json
import struct
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from scoreline import Client

DEMO = Path(__file__).resolve().parents[3] / "src" / "cli" / "demo" / "german-credit"


def fractional_card() -> dict:
    """Read the card of the demo, in sevenths: sums of its points then depend on their order."""
    spec = json.loads((DEMO / "spec.json").read_text())
    spec["name"] = "German credit in sevenths"
    spec["base_points"] /= 7
    for feature in spec["features"]:
        for one in feature["bins"]:
            one["points"] /= 7
    spec["scaling"]["pdo"] /= 7
    spec["scaling"]["base_score"] /= 7
    spec.pop("risk_grades", None)
    return spec


def applicants(count: int) -> pd.DataFrame:
    """Draw each column by itself from those of the demo, numbers with noise and gaps."""
    known = pd.DataFrame(
        [one["applicant"] for one in json.loads((DEMO / "applicants.json").read_text())]
    )
    random = np.random.default_rng(1)
    columns = {"number": np.arange(count)}
    for name in known:
        drawn = known[name].to_numpy()[random.integers(len(known), size=count)]
        if pd.api.types.is_numeric_dtype(known[name]):
            drawn = drawn * random.choice([1, 1, 1, 1.1, 0.3], size=count)
        columns[name] = pd.Series(drawn).mask(random.random(count) < 0.01)
    return pd.DataFrame(columns)


def by_spark(sql: str, source: Path, target: Path) -> None:
    """Score with Spark; its folder of Parquet files is what a warehouse expects."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.codegen.hugeMethodLimit", 8000)
        .getOrCreate()
    )
    spark.read.parquet(str(source)).createOrReplaceTempView("applicants")
    spark.sql(sql).write.mode("overwrite").parquet(str(target))
    spark.stop()


def by_duckdb(sql: str, source: Path, target: Path) -> None:
    """Score with DuckDB, in one file."""
    import duckdb

    database = duckdb.connect()
    database.read_parquet(str(source)).create_view("applicants")
    database.sql(sql).write_parquet(str(target))


def bits(values: pd.Series) -> list[bytes]:
    """Write numbers as their bits, so that 0 is not -0."""
    return [struct.pack(">d", value) for value in values]


def main(engine: str, folder: str, count: str = "1000000", compared: str = "10000") -> int:
    """Score, compare and say what was seen."""
    source, target = Path(folder, "applicants.parquet"), Path(folder, f"scores-{engine}.parquet")
    df = applicants(int(count))
    df.to_parquet(source, index=False)
    with Client() as client:
        deployed = client.deploy(fractional_card())
        sql = client.export(deployed, "sql", dialect=engine, table="applicants", key=["number"])
        begin = time.monotonic()
        {"spark": by_spark, "duckdb": by_duckdb}[engine](sql, source, target)
        seconds = time.monotonic() - begin
        written = pd.read_parquet(target).set_index("number").sort_index()
        if not written.index.equals(pd.RangeIndex(len(df))):
            raise SystemExit(f"{engine} wrote {len(written)} rows for {len(df)} applicants")
        some = df.iloc[np.linspace(0, len(df) - 1, int(compared), dtype=int)]
        expected = client.score(some.drop(columns="number"), deployed)
    got = written.loc[some["number"]]
    equal = {
        name: sum(map(bytes.__eq__, bits(got[name]), bits(expected[name])))
        for name in ("score", "pd")
    }
    print(f"{engine}: {len(written)} applicants in {seconds:.1f} s, with its start, to {target}")
    print(f"of {len(some)} compared, {equal['score']} scores and {equal['pd']} PDs have equal bits")
    return 0 if all(number == len(some) for number in equal.values()) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
