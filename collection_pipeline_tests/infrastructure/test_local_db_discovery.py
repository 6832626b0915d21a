"""A missing server is an error that says what to install, and never a silent other server."""

from pathlib import Path

import pytest

from collection_pipeline.local_db import apt_sources, discovery, packaged_server
from collection_pipeline.local_db.discovery import find_server
from collection_pipeline.local_db.errors import ServerMissing
from collection_pipeline_tests.kit.servers import wanted_kind


def _program(folder: Path, name: str, says: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH, an empty cache and no package sources; returns PATH."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(discovery, "_EXTRA_PATH", str(path))
    monkeypatch.setattr(packaged_server, "machine_sources", list[apt_sources.AptSource])
    return path


def test_a_server_that_is_found_is_of_the_kind_that_was_asked_for() -> None:
    """The program is asked itself: Debian's `mysqld` is MariaDB."""
    assert find_server(wanted_kind()).kind == wanted_kind()


def test_a_mysqld_that_is_mariadb_is_not_taken_for_mysql(bare_machine: Path) -> None:
    """A suite that claims MySQL must not run on MariaDB."""
    says = "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
    _program(bare_machine, "mysqld", says)

    assert find_server("mariadb").version == "10.11.19"
    assert find_server("any").kind == "mariadb"
    with pytest.raises(ServerMissing):
        find_server("mysql")


def test_an_installed_mysql_is_preferred(bare_machine: Path) -> None:
    """What the machine has is used before anything is downloaded."""
    _program(bare_machine, "mysqld", "/usr/sbin/mysqld  Ver 8.4.7 for Linux on x86_64 (Ubuntu)")

    found = find_server("any")

    assert (found.kind, found.version, found.unpacked_root) == ("mysql", "8.4.7", None)


def test_a_broken_program_counts_as_no_server(bare_machine: Path) -> None:
    """A half-removed package must not end the search with its own riddle."""
    _program(bare_machine, "mysqld", "cannot load libaio.so.1")

    with pytest.raises(ServerMissing):
        find_server("any")


@pytest.mark.usefixtures("bare_machine")
def test_a_machine_without_any_server_is_told_what_to_install() -> None:
    """One sentence, with the package's name and the other way out."""
    with pytest.raises(
        ServerMissing, match=r"install .*mysql-server-core .*COLLECTION_DATABASE_URL"
    ):
        find_server("any")
