"""Where the private server and its state live: `.local` of the project, or COLLECTION_HOME."""

import os
from pathlib import Path

from collection_pipeline.local_db.errors import HomeIsNoFolder


def home_folder() -> Path:
    """COLLECTION_HOME; else `.local` of the checkout; else `.local` of the current folder."""
    named = os.environ.get("COLLECTION_HOME")
    if named:
        folder = Path(named).expanduser().resolve()
        if folder.exists() and not folder.is_dir():
            raise HomeIsNoFolder(named)
        return folder
    checkout = Path(__file__).resolve().parents[2]
    base = checkout if (checkout / "pyproject.toml").is_file() else Path.cwd()
    return base / ".local"


def database_folder() -> Path:
    """The private server's folder."""
    return home_folder() / "db"
