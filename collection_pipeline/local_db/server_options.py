"""The settings of the private server: small, on loopback only, quick rather than durable.

`innodb_flush_log_at_trx_commit=2` and no binary log: a crash of the server loses nothing, a crash
of the machine may lose the last second. That is right for a demonstration and for tests, and not
for production. TLS is off because its start costs each new connection 60 to 100 ms.
"""

import os
from pathlib import Path

from collection_pipeline.local_db.server_binary import ServerBinary

MAX_CONNECTIONS = 300
BUFFER_POOL = "256M"


def base_options(binary: ServerBinary, data_folder: Path) -> list[str]:
    """Options of every call of the program, also of the one that makes the data folder."""
    share = binary.share_folder()
    # In the system's own folder, servers that start delete each other's temporary tables.
    temporary = data_folder.parent / "tmp"
    temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = [
        # First by the server's rule; no file of this machine may change the private server.
        "--no-defaults",
        f"--basedir={binary.basedir}",
        f"--datadir={data_folder}",
        f"--tmpdir={temporary}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        "--secure-file-priv=",
        # The kernel's limit of asynchronous requests is shared with every other container.
        "--innodb-use-native-aio=OFF",
        "--character-set-server=utf8mb4",
    ]
    plugins = binary.basedir / "lib/mysql/plugin"
    if plugins.is_dir():
        options.append(f"--plugin-dir={plugins}")
    if os.geteuid() == 0:
        options.append("--user=root")
    return options


def run_options(
    binary: ServerBinary, data_folder: Path, port: int, socket: Path, pid_file: Path, init: Path
) -> list[str]:
    """Options of the running server; `init` is SQL that it runs before it takes connections."""
    options = [
        *base_options(binary, data_folder),
        f"--init-file={init}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        f"--socket={socket}",
        f"--pid-file={pid_file}",
        "--skip-name-resolve",
        "--skip-log-bin",
        f"--max-connections={MAX_CONNECTIONS}",
        f"--innodb-buffer-pool-size={BUFFER_POOL}",
        "--innodb-flush-log-at-trx-commit=2",
        "--max-allowed-packet=64M",
    ]
    if binary.kind == "mysql":
        return [*options, "--mysqlx=OFF", "--tls-version="]
    return [*options, "--skip-ssl"]
