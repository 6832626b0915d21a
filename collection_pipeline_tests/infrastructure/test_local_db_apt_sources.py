"""Where the private server's packages come from is read from the machine, never written here."""

from pathlib import Path

from collection_pipeline.local_db.apt_sources import AptSource, machine_sources, unstable_source

MIRROR = "https://mirror.example/debian"


def test_sources_of_both_forms_are_read(tmp_path: Path) -> None:
    """One-line and deb822 entries count alike; comments, source packages and disabled do not."""
    (tmp_path / "sources.list").write_text(
        "# deb https://old.example/debian stable main\n"
        f"deb [arch=amd64 signed-by=/keys/a.gpg] {MIRROR} stable main contrib  # note\n"
        f"deb-src {MIRROR} stable main\n"
    )
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "b.sources").write_text(
        "# ours\nTypes: deb deb-src\nURIs: https://b.example/ubuntu\nSuites: noble noble-updates\n"
        "Components: main\nSigned-By: /keys/b.gpg\n\n"
        "Types: deb\nURIs: https://c.example/ubuntu\nSuites: noble\nEnabled: no\n"
    )
    (parts / "c.sources.disabled").write_text("Types: deb\nURIs: https://d.example/x\n")

    assert machine_sources(tmp_path) == [
        AptSource((MIRROR,), ("stable",), ("main", "contrib"), "/keys/a.gpg"),
        AptSource(
            ("https://b.example/ubuntu",), ("noble", "noble-updates"), ("main",), "/keys/b.gpg"
        ),
    ]


def test_the_unstable_suite_comes_from_the_machines_own_mirror() -> None:
    """Address and key are the machine's; the security archive has no such suite."""
    security = AptSource((MIRROR + "-security",), ("stable-security",), ("main",), "/keys/a.gpg")
    archive = AptSource((MIRROR,), ("stable",), ("main", "contrib"), "/keys/a.gpg")

    assert unstable_source([security, archive]) == AptSource(
        (MIRROR,), ("unstable",), ("main",), "/keys/a.gpg"
    )


def test_a_machine_without_a_debian_archive_has_no_unstable_suite() -> None:
    """Ubuntu's suites are looked through as they are, nothing is invented."""
    assert (
        unstable_source([AptSource(("https://b.example/ubuntu",), ("noble",), ("main",))]) is None
    )


def test_a_stanza_reads_back_as_the_source_it_came_from(tmp_path: Path) -> None:
    """Also with a key that is written into the entry over several lines."""
    source = AptSource((MIRROR,), ("unstable",), ("main",), "\n -----BEGIN\n .\n -----END", True)
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "a.sources").write_text(source.stanza())

    assert machine_sources(tmp_path) == [source]
