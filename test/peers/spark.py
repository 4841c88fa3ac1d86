"""Runs the `spark.sql` of each case in a local Spark and compares its answers with those beside it, to the bit."""

import base64
import os
import struct
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType


def cell(text):
    if text.startswith("d"):
        return struct.unpack(">d", bytes.fromhex(text[1:]))[0]
    if text.startswith("s"):
        return base64.b64decode(text[1:]).decode()
    return None


def bits(value):
    return None if value is None else struct.pack(">d", value)


spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
cards = rows = scores = probabilities = 0
for case in sorted(os.listdir(sys.argv[1]))[: int(sys.argv[2]) if len(sys.argv) > 2 else None]:
    folder = os.path.join(sys.argv[1], case)
    statement = os.path.join(folder, "spark.sql")
    if not os.path.exists(statement):
        continue
    lines = open(os.path.join(folder, "rows.tsv"), newline="").read().split("\n")
    fields = [
        StructField(cell(name[1:]), DoubleType() if name[0] == "d" else StringType())
        for name in lines[0].split("\t")[2:]
    ]
    table = [[cell(text) for text in line.split("\t")] for line in lines[1:]]
    frame = spark.createDataFrame(
        [[index, *row[2:]] for index, row in enumerate(table)],
        StructType([StructField("row", LongType()), *fields]),
    )
    frame.createOrReplaceTempView("applicants")
    try:
        found = {row["row"]: row for row in spark.sql(open(statement, newline="").read()).collect()}
    except Exception as error:
        print(case, str(error)[:300])
        continue
    cards += 1
    for index, row in enumerate(table):
        rows += 1
        scores += bits(found[index]["score"]) == bits(row[0])
        probabilities += bits(found[index]["pd"]) == bits(row[1])
print(f"{cards} cards, {rows} applicants: {scores} scores and {probabilities} probabilities equal to the bit")
