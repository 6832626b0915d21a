"""What has to outlive the process that started the private server: ports, accounts, passwords.

Invariant: the file is readable by its owner only, and is replaced as a whole.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from collection_pipeline.local_db.errors import StateFileUnreadable
from collection_pipeline.local_db.server_binary import ServerKind


def _new_password() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class ServerState:
    """The private server of one folder. `kind` stays: no kind can read the other's data."""

    kind: ServerKind
    port: int | None = None
    version: str | None = None
    owner_password: str = field(default_factory=_new_password, repr=False)
    collection_password: str = field(default_factory=_new_password, repr=False)
    dagster_password: str = field(default_factory=_new_password, repr=False)


def read_state(path: Path) -> ServerState | None:
    """The stored state; None if no server was ever started here."""
    if not path.exists():
        return None
    try:
        return ServerState(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise StateFileUnreadable(str(path.parent)) from None


def write_state(path: Path, state: ServerState) -> None:
    """Stores the state with mode 0600."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(asdict(state)), encoding="utf-8")
    os.replace(draft, path)  # noqa: PTH105
