"""Reads an archive with DuckDB, pyarrow and Spark: counts and sums must be what was logged.

archive.ts writes the archive and its expected.json, and so does `npm run bench -- archive --keep`.
"""

import json
import os
import sys
import time

import duckdb
import numpy as np
import pyarrow
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyspark
from pyspark.sql import SparkSession

folder = os.path.abspath(sys.argv[1])
store = os.path.join(folder, "store")
with open(os.path.join(folder, "expected.json")) as file:
    expected = json.load(file)


def by_duckdb():
    row = duckdb.sql(
        f"""select count(*), count(distinct request_id), count(score),
          sum(floor(score * 1e9)::hugeint), sum(floor(coalesce(pd, 0) * 1e9)::hugeint),
          list(distinct dt::varchar)
        from read_parquet('{store}/dt=*/*.parquet', hive_partitioning = true)"""
    ).fetchall()[0]
    return row[0], row[1], row[2], row[3], row[4], row[5]


def by_pyarrow():
    # It leaves out names that begin with "_".
    table = ds.dataset(store, format="parquet", partitioning="hive").to_table(
        columns=["request_id", "score", "pd", "dt"]
    )

    def total(name):
        values = table[name].drop_null().to_numpy()
        return sum(map(int, np.floor(values * 1e9)))

    distinct = pc.count_distinct(table["request_id"]).as_py()
    days = [str(day) for day in pc.unique(table["dt"]).to_pylist()]
    return table.num_rows, distinct, pc.count(table["score"]).as_py(), total("score"), total("pd"), days


def by_spark():
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.read.parquet(store).createOrReplaceTempView("log")
    row = spark.sql(
        """select count(*), count(distinct request_id), count(score),
          sum(cast(floor(score * 1e9D) as decimal(38, 0))),
          sum(cast(floor(coalesce(pd, 0) * 1e9D) as decimal(38, 0))),
          collect_set(cast(dt as string))
        from log"""
    ).first()
    spark.stop()
    return tuple(row)


engines = [
    ("DuckDB", duckdb.__version__, by_duckdb),
    ("pyarrow", pyarrow.__version__, by_pyarrow),
    ("Spark", pyspark.__version__, by_spark),
]
print("expected", expected)
wrong = 0
for name, version, read in engines:
    begin = time.monotonic()
    rows, requests, scores, sum_score, sum_pd, days = read()
    seen = {
        "rows": rows,
        "requests": requests,
        "scores": scores,
        "sum_score": str(int(sum_score)),
        "sum_pd": str(int(sum_pd)),
        "dt": sorted(days),
    }
    is_right = seen == expected
    wrong += not is_right
    print(name, version, "equal" if is_right else f"DIFFERENT {seen}", f"{time.monotonic() - begin:.1f} s")
sys.exit(1 if wrong else 0)
