"""Rows of sources from a CSV or JSON file, with the line or position to name a bad one by."""

import csv
import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from collection_pipeline.collection.registration import BadSourceRows


def rows_of_file(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    """The file's rows with their line (CSV) or position (JSON), from 1."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadSourceRows([f"{path}: cannot be read as UTF-8 text"]) from None
    except OSError as error:
        raise BadSourceRows([f"{path}: {error.strerror or type(error).__name__}"]) from None
    if path.suffix not in READERS:
        raise BadSourceRows([f"{path}: write a file that ends in {' or '.join(READERS)}"])
    rows = READERS[path.suffix](path, content)
    if not rows:
        raise BadSourceRows([f"{path}: holds no source"])
    return rows


def _json_rows(path: Path, content: str) -> list[tuple[int, Mapping[str, Any]]]:
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError):
        raise BadSourceRows([f"{path}: is not JSON"]) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadSourceRows([f"{path}: write a JSON list of objects"])
    return list(enumerate(rows, 1))


def _csv_rows(path: Path, content: str) -> list[tuple[int, Mapping[str, Any]]]:
    """A CSV's condition column holds ``KEY=VALUE`` pairs joined by ``&``."""
    reader = csv.DictReader(StringIO(content), strict=True)
    names = reader.fieldnames or ()
    if len(set(names)) != len(names):
        raise BadSourceRows([f"{path}: the header names a column twice"])
    rows: list[tuple[int, Mapping[str, Any]]] = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise BadSourceRows([f"line {reader.line_num}: not as many fields as the header"])
            given: dict[str, Any] = {name: value for name, value in row.items() if value.strip()}
            if "condition" in given:
                given["condition"] = [pair for pair in given["condition"].split("&") if pair]
            rows.append((reader.line_num, given))
    except csv.Error as error:
        # The reader still counts the record before: the bad one begins on the next line.
        raise BadSourceRows([f"{path}: line {reader.line_num + 1}: {error}"]) from None
    return rows


READERS = {".csv": _csv_rows, ".json": _json_rows}
