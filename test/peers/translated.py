"""Reads the statements for BigQuery and Snowflake with sqlglot, and runs what it makes of them on DuckDB.

Shows that a parser that others wrote takes names, texts and numbers for what they are; not what the two
warehouses themselves do.
"""

import base64
import os
import struct
import sys

import duckdb
import sqlglot


def cell(text):
    if text.startswith("d"):
        return struct.unpack(">d", bytes.fromhex(text[1:]))[0]
    if text.startswith("s"):
        return base64.b64decode(text[1:]).decode()
    return None


def bits(value):
    return None if value is None else struct.pack(">d", value)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def lines_of(path):
    return open(path, newline="").read().split("\n")


def without_collation(node):
    return node.this if isinstance(node, sqlglot.exp.Collate) else node


for dialect in ["bigquery", "snowflake"]:
    cards = skipped = rows = equal = 0
    for case in sorted(os.listdir(sys.argv[1])):
        folder = os.path.join(sys.argv[1], case)
        statement = os.path.join(folder, f"{dialect}.sql")
        if not os.path.exists(statement):
            continue
        [tree] = sqlglot.parse("\n".join(lines_of(statement)), read=dialect)
        header, *table = [line.split("\t") for line in lines_of(os.path.join(folder, "rows.tsv"))]
        names = [cell(name[1:]) for name in header[2:]]
        if len({name.lower() for name in names}) < len(names):
            skipped += 1  # two columns for Snowflake, one for DuckDB
            continue
        database = duckdb.connect()
        types = ["DOUBLE" if name[0] == "d" else "VARCHAR" for name in header[2:]]
        columns = ", ".join(f"{quoted(name)} {type}" for name, type in zip(names, types))
        database.execute(f"CREATE TABLE applicants (row INT, {columns})")
        values = [[index, *map(cell, row[2:])] for index, row in enumerate(table)]
        database.executemany(f"INSERT INTO applicants VALUES (?{', ?' * len(names)})", values)
        query = tree.transform(without_collation).sql(dialect="duckdb")
        answers = database.execute(f"SELECT score, pd FROM ({query}) ORDER BY row").fetchall()
        cards += 1
        for answer, row in zip(answers, table):
            rows += 1
            equal += [bits(value) for value in answer] == [bits(cell(text)) for text in row[:2]]
    print(f"{dialect}: {cards} cards ({skipped} left out), {rows} applicants: {equal} equal to the bit")
