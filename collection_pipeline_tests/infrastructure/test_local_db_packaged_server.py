"""A server in the cache is complete or absent, and is fetched once however many ask for it."""

import threading
from pathlib import Path

import pytest

from collection_pipeline.local_db import packaged_server
from collection_pipeline.local_db.apt_sources import AptSource
from collection_pipeline.local_db.errors import (
    PackageDownloadFailed,
    PackageSourcesMissing,
    PackageUnpackFailed,
)
from collection_pipeline.local_db.packaged_server import (
    cached_server,
    configured_server,
    unstable_server,
)
from collection_pipeline.local_db.server_binary import ServerBinary

MIRROR = AptSource(("https://mirror.example/debian",), ("stable",), ("main",))


class _Archive:
    """An archive with one package; `opened` counts how often its lists were fetched."""

    opened = 0
    failure: Exception | None = None
    opened_twice = threading.Event()

    def __init__(self, folder: Path, sources: list[AptSource]) -> None:
        type(self).opened += 1
        folder.mkdir(parents=True)
        if self.opened > 1:
            self.opened_twice.set()
        # Gives a second caller that no lock holds back the time to get here too.
        self.opened_twice.wait(0.5)

    def newest(self, name_pattern: str) -> tuple[str, str] | None:
        return ("mariadb-server-core", "1:10.11.19-0") if "mariadb" in name_pattern else None

    def download(self, name: str) -> list[Path]:
        if self.failure is not None:
            raise self.failure
        return []


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> type[_Archive]:
    """Puts the archive in place of apt, and takes any folder for a server."""

    class Archive(_Archive):
        opened_twice = threading.Event()

    def _server(root: Path) -> ServerBinary:
        return ServerBinary("mariadb", "10.11.19", ("mysqld",), root / "usr", root)

    monkeypatch.setattr(packaged_server, "AptArchive", Archive)
    monkeypatch.setattr(packaged_server, "machine_sources", lambda: [MIRROR])
    monkeypatch.setattr(packaged_server, "unpacked_server", _server)
    return Archive


def test_many_that_ask_at_once_fetch_it_once(archive: type[_Archive], tmp_path: Path) -> None:
    """The others wait for the lock and find what the first one left."""
    found: list[ServerBinary | None] = []
    threads = [
        threading.Thread(target=lambda: found.append(configured_server(("mariadb",), tmp_path)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert archive.opened == 1
    assert len({server.unpacked_root for server in found if server is not None}) == 1
    assert None not in found


def test_a_fetch_that_fails_leaves_nothing_behind(archive: type[_Archive], tmp_path: Path) -> None:
    """The next call starts anew instead of trusting half a server."""
    archive.failure = PackageDownloadFailed("no route")

    with pytest.raises(PackageDownloadFailed):
        configured_server(("mariadb",), tmp_path)
    assert cached_server(("mariadb",), tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]

    archive.failure = None
    assert configured_server(("mariadb",), tmp_path) is not None


def test_a_package_that_cannot_be_unpacked_never_enters_the_cache(
    archive: type[_Archive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file cut off on its way is refused by the real unpacker."""
    cut = tmp_path / "cut.deb"
    cut.write_bytes(b"!<arch>\ndebian-binary")
    monkeypatch.setattr(archive, "download", lambda *_: [cut])

    with pytest.raises(PackageUnpackFailed, match=r"cut\.deb"):
        configured_server(("mariadb",), tmp_path / "cache")

    assert cached_server(("mariadb",), tmp_path / "cache") is None


def test_the_first_kind_that_the_suites_have_is_taken(
    archive: type[_Archive], tmp_path: Path
) -> None:
    """MySQL is looked for first; Debian's stable suites have MariaDB only."""
    found = configured_server(("mysql", "mariadb"), tmp_path)

    assert found is not None
    assert found.kind == "mariadb"
    assert configured_server(("mysql",), tmp_path) is None


@pytest.mark.usefixtures("archive")
def test_a_suite_without_mysql_is_an_error_of_its_own(tmp_path: Path) -> None:
    """MariaDB never stands in where MySQL was asked for."""
    with pytest.raises(PackageSourcesMissing, match="mysql"):
        unstable_server("mysql", tmp_path)
