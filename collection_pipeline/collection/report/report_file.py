"""Writes a report to a file: whole or not at all, and never over another one unasked.

Invariant: the name exists only once the content is complete on disk. Without ``force`` the name is
taken by a link, which the system refuses where there is one already, whoever was quicker.
"""

import contextlib
import os
import secrets
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from collection_pipeline.collection.report.file_errors import (
    CannotWriteReport,
    ParquetUnavailable,
)
from collection_pipeline.collection.report.flat_table import csv_text

CSV_ENCODING = "utf-8-sig"
"""With the mark: without it Excel on a Korean Windows reads the file as CP949, garbled."""


def require_parquet() -> None:
    """Raise ``ParquetUnavailable`` where nothing here can write it."""
    if find_spec("pyarrow") is None:
        raise ParquetUnavailable


def require_free(path: Path, *, force: bool) -> None:
    """Raise ``CannotWriteReport`` for a place that is plainly wrong, before any work."""
    try:
        _check_place(path, force=force)
    except OSError as error:
        raise _refused(path, error) from None


def write_csv(table: pd.DataFrame, path: Path, *, force: bool = False) -> None:
    """UTF-8 with its mark; raises ``CannotWriteReport``."""
    content = csv_text(table).encode(CSV_ENCODING)
    _write(path, lambda temporary: _put(temporary, content), force=force)


def write_parquet(table: pd.DataFrame, path: Path, *, force: bool = False) -> None:
    """Raises ``CannotWriteReport`` and ``ParquetUnavailable``."""
    require_parquet()
    _write(
        path, lambda temporary: table.to_parquet(temporary, engine="pyarrow", index=False), force
    )


def write_text(text: str, path: Path, *, force: bool = False) -> None:
    """UTF-8; raises ``CannotWriteReport``."""
    _write(path, lambda temporary: _put(temporary, text.encode()), force=force)


def _check_place(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise CannotWriteReport(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise CannotWriteReport(f"{path}: the folder {path.parent} does not exist")
    if path.exists() and not path.is_file():
        raise CannotWriteReport(f"{path} is not a regular file")
    if (path.exists() or path.is_symlink()) and not force:
        raise _taken(path)


def _write(path: Path, fill: Callable[[Path], None], force: bool) -> None:
    require_free(path, force=force)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        fill(temporary)
        _sync(temporary)
        if force:
            temporary.replace(path)
        else:
            _take(path, temporary)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _take(path: Path, temporary: Path) -> None:
    """Raises ``FileExistsError`` for a name that is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system knows links: the name is then taken first, empty for a blink.
        path.touch(exist_ok=False)
        temporary.replace(path)


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _sync(path: Path) -> None:
    with path.open("rb+") as written:
        os.fsync(written.fileno())


def _refused(path: Path, error: OSError) -> CannotWriteReport:
    return CannotWriteReport(f"{path} cannot be written: {error.strerror or error}")


def _taken(path: Path) -> CannotWriteReport:
    return CannotWriteReport(f"{path} is there already: choose another name, or add --force")
