"""A database server's program and how to call it, installed or unpacked.

Invariant: an unpacked server runs on the C library that was unpacked beside it, through that
library's own program loader; the machine's libraries never mix with it.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from collection_pipeline.local_db.errors import ServerFilesIncomplete

ServerKind = Literal["mysql", "mariadb"]

_VERSION_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class ServerBinary:
    """`command` starts the server when options are appended; `basedir` holds `share/`.

    `unpacked_root` is the folder that the package was unpacked into, None for an installed one.
    """

    kind: ServerKind
    version: str
    command: tuple[str, ...]
    basedir: Path
    unpacked_root: Path | None = None

    def environment(self) -> dict[str, str]:
        """The environment to run the server in."""
        environment = dict(os.environ)
        environment.pop("LD_PRELOAD", None)
        if self.unpacked_root is not None:
            # The machine's OpenSSL settings may name modules that the unpacked library lacks.
            environment["OPENSSL_CONF"] = "/dev/null"
        return environment

    def share_folder(self) -> Path:
        """Where messages, character sets and system-table scripts lie."""
        for name in ("mysql", "mariadb"):
            folder = self.basedir / "share" / name
            if (folder / "charsets").is_dir():
                return folder
        if (self.basedir / "share/charsets").is_dir():
            return self.basedir / "share"
        raise ServerFilesIncomplete(f"no charsets below {self.basedir / 'share'}")


def installed_server(program: Path) -> ServerBinary:
    """Describes a server that is installed on this machine."""
    real = program.resolve()
    kind, version = _ask_version((str(real),), dict(os.environ))
    return ServerBinary(kind, version, (str(real),), real.parent.parent)


def unpacked_server(root: Path) -> ServerBinary:
    """Describes the server in a folder that packages were unpacked into."""
    program = _first_existing(root, ("usr/sbin/mysqld", "usr/sbin/mariadbd"))
    loader = next((p for p in sorted(root.rglob("ld-linux*.so.*")) if not p.is_symlink()), None)
    if loader is None:
        raise ServerFilesIncomplete("no program loader")
    libraries = sorted(
        {str(path.parent) for name in ("lib", "usr/lib") for path in _libraries(root / name)}
    )
    command = (str(loader), "--library-path", ":".join(libraries), str(program))
    kind, version = _ask_version(command, {**os.environ, "OPENSSL_CONF": "/dev/null"})
    return ServerBinary(kind, version, command, root / "usr", root)


def _libraries(folder: Path) -> list[Path]:
    """Shared libraries directly in `folder`, its architecture's folder, or a private one."""
    patterns = ("*.so.*", "*-linux-gnu*/*.so.*", "mysql/private/*.so.*")
    return [path for pattern in patterns for path in folder.glob(pattern)]


def _first_existing(root: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (root / name).is_file():
            return root / name
    raise ServerFilesIncomplete(f"none of {', '.join(names)}")


def _ask_version(command: tuple[str, ...], environment: dict[str, str]) -> tuple[ServerKind, str]:
    """Kind and version as the program itself tells them."""
    try:
        done = subprocess.run(
            [*command, "--no-defaults", "--version"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerFilesIncomplete(f"{command[-1]}: {error}") from None
    match = re.search(r"Ver (\d+\.\d+\.\d+)", done.stdout)
    if done.returncode != 0 or match is None:
        raise ServerFilesIncomplete((done.stderr or done.stdout).strip()[-300:])
    return ("mariadb" if "MariaDB" in done.stdout else "mysql"), match[1]
