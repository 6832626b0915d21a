"""Reads where this machine fetches its packages, and derives one more suite from it.

Invariant: an archive's address always comes from the machine's own configuration, never from
this repository, so that mirrors and proxies keep working.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

APT_FOLDER = Path("/etc/apt")

_ONE_LINE = re.compile(
    r"^deb\s+(?:\[(?P<options>[^]]*)]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<components>.*)$"
)


@dataclass(frozen=True)
class AptSource:
    """One entry of the machine's package sources; `signed_by` is a key file's path or ''."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""
    trusted: bool = False

    def stanza(self) -> str:
        """The entry in apt's deb822 form, ready for a private `.sources` file."""
        lines = [
            "Types: deb",
            f"URIs: {' '.join(self.uris)}",
            f"Suites: {' '.join(self.suites)}",
        ]
        if self.components:
            lines.append(f"Components: {' '.join(self.components)}")
        if self.signed_by:
            lines.append(f"Signed-By: {self.signed_by}")
        if self.trusted:
            lines.append("Trusted: yes")
        return "\n".join(lines) + "\n"


def machine_sources(apt_folder: Path = APT_FOLDER) -> list[AptSource]:
    """All enabled binary sources of the machine, in apt's order of reading."""
    parts = apt_folder / "sources.list.d"
    names = sorted(parts.iterdir()) if parts.is_dir() else []
    found: list[AptSource] = []
    for path in [apt_folder / "sources.list", *names]:
        if path.suffix == ".list" and path.is_file():
            found += _read_one_line_entries(path.read_text(encoding="utf-8"))
        elif path.suffix == ".sources" and path.is_file():
            found += _read_deb822(path.read_text(encoding="utf-8"))
    return found


def unstable_source(sources: list[AptSource]) -> AptSource | None:
    """Debian's unstable suite from the mirror that the machine uses; None without one.

    The main archive is the source whose path ends with `/debian`: security and third-party
    archives have other paths and no `unstable`.
    """
    for source in sources:
        uris = tuple(uri for uri in source.uris if _is_debian_archive(uri))
        if uris and "main" in source.components:
            return AptSource(uris, ("unstable",), ("main",), source.signed_by, source.trusted)
    return None


def _is_debian_archive(uri: str) -> bool:
    return urlsplit(uri).path.rstrip("/").endswith("/debian")


def _read_one_line_entries(text: str) -> list[AptSource]:
    found = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].strip())
        if match is None:
            continue
        options = dict(
            pair.split("=", 1) for pair in (match["options"] or "").split() if "=" in pair
        )
        found.append(
            AptSource(
                uris=(match["uri"],),
                suites=(match["suite"],),
                components=tuple(match["components"].split()),
                signed_by=options.get("signed-by", ""),
                trusted=options.get("trusted") == "yes",
            )
        )
    return found


def _read_deb822(text: str) -> list[AptSource]:
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        fields = _deb822_fields(paragraph)
        enabled = fields.get("enabled", "yes").lower() not in {"no", "false", "0"}
        if not enabled or "deb" not in fields.get("types", "").split() or "uris" not in fields:
            continue
        found.append(
            AptSource(
                uris=tuple(fields["uris"].split()),
                suites=tuple(fields.get("suites", "").split()),
                components=tuple(fields.get("components", "").split()),
                signed_by=fields.get("signed-by", ""),
                trusted=fields.get("trusted", "").lower() == "yes",
            )
        )
    return found


def _deb822_fields(paragraph: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace() and name:
            # A key written into the file itself: apt reads it only with its line breaks.
            fields[name] += "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields
