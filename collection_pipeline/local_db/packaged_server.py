"""A database server from a Debian or Ubuntu package, unpacked into the user's cache folder.

Invariant: a server's folder in the cache appears complete or not at all (unpacked beside it, then
renamed), and only one process of the machine's user fetches at a time (a file lock).
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collection_pipeline.local_db.apt_archive import AptArchive
from collection_pipeline.local_db.apt_sources import AptSource, machine_sources, unstable_source
from collection_pipeline.local_db.errors import PackageSourcesMissing, PackageUnpackFailed
from collection_pipeline.local_db.server_binary import ServerBinary, ServerKind, unpacked_server

_PACKAGES: dict[ServerKind, str] = {
    "mysql": r"mysql-server-core(-[\d.]+)?",
    "mariadb": r"mariadb-server-core(-[\d.]+)?",
}


def cache_folder() -> Path:
    """Where unpacked servers are kept; XDG's cache folder, so deleting it is always safe."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "collection-pipeline" / "servers"


def cached_server(kinds: tuple[ServerKind, ...], cache: Path) -> ServerBinary | None:
    """The newest server of the first kind that an earlier call has unpacked."""
    for kind in kinds:
        folders = sorted(cache.glob(f"{kind}-server-core*"), key=lambda p: p.stat().st_mtime)
        if folders:
            return unpacked_server(folders[-1])
    return None


def configured_server(kinds: tuple[ServerKind, ...], cache: Path) -> ServerBinary | None:
    """The server from the suites that this machine is configured for; None if they lack it."""
    return _fetch(kinds, machine_sources(), cache)


def unstable_server(kind: ServerKind, cache: Path) -> ServerBinary:
    """The server from Debian's unstable suite, through the mirror of this machine.

    Debian's stable releases carry no MySQL, and the tests need a real one.
    """
    source = unstable_source(machine_sources())
    found = None if source is None else _fetch((kind,), [source], cache)
    if found is None:
        raise PackageSourcesMissing(kind)
    return found


def _fetch(
    kinds: tuple[ServerKind, ...], sources: list[AptSource], cache: Path
) -> ServerBinary | None:
    if not sources:
        return None
    with _lock(cache):
        # Another process may have fetched it while this one waited.
        found = cached_server(kinds, cache)
        if found is not None:
            return found
        with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as work:
            return _fetch_into(Path(work), kinds, sources, cache)


def _fetch_into(
    work: Path, kinds: tuple[ServerKind, ...], sources: list[AptSource], cache: Path
) -> ServerBinary | None:
    archive = AptArchive(work / "apt", sources)
    package = next(filter(None, (archive.newest(_PACKAGES[kind]) for kind in kinds)), None)
    if package is None:
        return None
    name, version = package
    root = work / "root"
    _unpack(archive.download(name), root)
    unpacked_server(root)  # Only what runs here may enter the cache.
    target = cache / f"{name}_{version.replace(':', '%')}"
    root.rename(target)
    return unpacked_server(target)


def _unpack(packages: list[Path], root: Path) -> None:
    root.mkdir()
    for package in packages:
        done = subprocess.run(
            ["dpkg-deb", "-x", str(package), str(root)],  # noqa: S607
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise PackageUnpackFailed(f"{package.name}: {done.stderr.strip()[-200:]}")
        package.unlink()
    for ballast in ("usr/share/doc", "usr/share/perl", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / ballast, ignore_errors=True)


@contextmanager
def _lock(cache: Path) -> Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
