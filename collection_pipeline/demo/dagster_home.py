"""DAGSTER_HOME: the checkout's own folder, whose ``dagster.yaml`` points to MySQL."""

import os
from pathlib import Path


class NoDagsterHome(Exception):
    """There is no ``dagster.yaml``; set DAGSTER_HOME to a folder that has one."""

    def __init__(self) -> None:
        super().__init__("set DAGSTER_HOME to the folder that holds dagster.yaml")


def dagster_home() -> Path:
    """``DAGSTER_HOME`` where it is set, else the checkout that holds this package."""
    named = os.environ.get("DAGSTER_HOME")
    folder = Path(named) if named else Path(__file__).resolve().parents[2]
    if not (folder / "dagster.yaml").is_file():
        raise NoDagsterHome
    return folder
