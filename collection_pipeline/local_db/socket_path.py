"""Where a server's unix socket lies: in its folder, or in the temporary folder if that is too deep.

Invariant: the folder itself says where its socket is (a link named `socket-folder`), so that any
process finds and removes it.
"""

import contextlib
import tempfile
from pathlib import Path

# A socket's address holds 108 bytes on Linux and 104 on macOS, the closing zero included.
LONGEST_BYTES = 90

_NAMES = ("server.sock", "server.sock.lock")


def fresh_socket_path(folder: Path) -> Path:
    """The path for a new server; what a crashed one left there is removed."""
    path = folder / _NAMES[0]
    if len(bytes(path)) > LONGEST_BYTES:
        link = folder / "socket-folder"
        if not link.is_dir():
            link.unlink(missing_ok=True)
            link.symlink_to(tempfile.mkdtemp(prefix="collection-db-"))
        path = link.readlink() / _NAMES[0]
    _remove_files(path.parent)
    return path


def remove_temporary_socket(folder: Path) -> None:
    """Removes the folder that `fresh_socket_path` made elsewhere, if it did."""
    link = folder / "socket-folder"
    if link.is_symlink():
        _remove_files(link.readlink())
        with contextlib.suppress(OSError):
            link.readlink().rmdir()
        link.unlink()


def _remove_files(folder: Path) -> None:
    for name in _NAMES:
        (folder / name).unlink(missing_ok=True)
