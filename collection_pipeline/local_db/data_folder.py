"""Makes the data folder of a new server.

Invariant: the folder appears complete or not at all: it is made under another name and renamed,
so that a process killed half-way leaves nothing that a later start would trust.
"""

import shutil
import subprocess
from pathlib import Path

from collection_pipeline.local_db.errors import DataFolderNotInitialised, ServerFilesIncomplete
from collection_pipeline.local_db.server_binary import ServerBinary
from collection_pipeline.local_db.server_options import base_options

_TIMEOUT_SECONDS = 300

# MariaDB has no `--initialize`: its install script feeds these files to the server. Doing that
# here spares the script's shell, its client package and its guesses about where things lie.
_MARIADB_SCRIPTS = (
    "{prefix}_system_tables.sql",
    "{prefix}_performance_tables.sql",
    "{prefix}_system_tables_data.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "{prefix}_sys_schema.sql",
)


def prepare_data_folder(binary: ServerBinary, data_folder: Path) -> None:
    """Makes the folder unless it is there already."""
    if data_folder.is_dir():
        return
    draft = data_folder.with_name(data_folder.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True, mode=0o700)
    if binary.kind == "mysql":
        _run(binary, [*base_options(binary, draft), "--initialize-insecure", "--mysqlx=OFF"], "")
    else:
        (draft / "mysql").mkdir(mode=0o700)
        options = [*base_options(binary, draft), "--bootstrap", "--silent-startup"]
        _run(binary, options, _mariadb_system_tables(binary))
    draft.rename(data_folder)


def _mariadb_system_tables(binary: ServerBinary) -> str:
    share = binary.share_folder()
    statements = [
        "CREATE DATABASE IF NOT EXISTS mysql;",
        "USE mysql;",
        "SET @auth_root_socket=NULL;",
        "SET @skip_auth_anonymous=1;",
    ]
    for script in _MARIADB_SCRIPTS:
        names = [script.format(prefix=prefix) for prefix in ("mariadb", "mysql")]
        path = next((share / name for name in names if (share / name).is_file()), None)
        if path is None:
            raise ServerFilesIncomplete(names[0])
        statements.append(path.read_text(encoding="utf-8"))
    return "\n".join(statements)


def _run(binary: ServerBinary, options: list[str], statements: str) -> None:
    try:
        done = subprocess.run(
            [*binary.command, *options],
            env=binary.environment(),
            input=statements,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise DataFolderNotInitialised(f"no end after {_TIMEOUT_SECONDS} s") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        wrong = [line for line in lines if "ERROR" in line] or lines or ["no message"]
        raise DataFolderNotInitialised(wrong[-1])
