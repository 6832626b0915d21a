"""Finds a database server for the project.

Order: what is installed on PATH, then what the cache folder holds, then a package of the suites
that this machine is configured for, then (only where MySQL itself is asked for) Debian's unstable
suite. A machine with `COLLECTION_DATABASE_URL` needs none of this: see `persistent`.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Literal

from collection_pipeline.local_db.errors import (
    LocalDatabaseError,
    ServerFilesIncomplete,
    ServerMissing,
)
from collection_pipeline.local_db.packaged_server import (
    cache_folder,
    cached_server,
    configured_server,
    unstable_server,
)
from collection_pipeline.local_db.server_binary import (
    ServerBinary,
    ServerKind,
    installed_server,
)

Preference = Literal["any", "mysql", "mariadb"]

_PROGRAMS = ("mysqld", "mariadbd")
# Distributions put servers where an ordinary user's PATH does not look.
_EXTRA_PATH = "/usr/sbin:/usr/local/sbin:/usr/libexec"


def find_server(prefer: Preference = "any", cache: Path | None = None) -> ServerBinary:
    """A server of the preferred kind; downloads one (about 60 MB) if the machine has none.

    Raises ServerMissing with one sentence that says what to install.
    """
    cache = cache_folder() if cache is None else cache
    kinds: tuple[ServerKind, ...] = ("mysql", "mariadb") if prefer == "any" else (prefer,)
    try:
        return (
            _on_path(kinds)
            or cached_server(kinds, cache)
            or configured_server(kinds, cache)
            or unstable_server(kinds[0], cache)
        )
    except LocalDatabaseError as error:
        raise ServerMissing(str(error)) from error


def _on_path(kinds: tuple[ServerKind, ...]) -> ServerBinary | None:
    for program in _PROGRAMS:
        for path in (os.environ.get("PATH", os.defpath), _EXTRA_PATH):
            found = shutil.which(program, path=path)
            if found is None:
                continue
            # `mysqld` may be MariaDB, or a package that is half removed: ask the program.
            with suppress(ServerFilesIncomplete):
                server = installed_server(Path(found))
                if server.kind in kinds:
                    return server
    return None
