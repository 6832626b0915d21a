"""Fetches packages through apt into a private folder; the machine's own state stays as it is.

Invariant: nothing below `/var/lib/apt`, `/var/cache/apt` or `/var/lib/dpkg` is read or written,
so no root is needed. apt verifies signatures and hashes as it always does. The list of installed
packages is empty on purpose: every dependency is fetched too, the C library included, so that a
server built for another release runs here.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from collection_pipeline.local_db.apt_sources import APT_FOLDER, AptSource
from collection_pipeline.local_db.errors import PackageDownloadFailed, PackageToolMissing

APT_TIMEOUT_SECONDS = 900

# Proxies, certificates and the architecture; no hooks, which would need root.
_KEPT_SETTINGS = re.compile(r"^(Acquire|APT::Architectures?)\b")


class AptArchive:
    """The packages of some sources. `folder` is private to this object and may be deleted."""

    def __init__(self, folder: Path, sources: list[AptSource]) -> None:
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise PackageToolMissing
        self._folder = folder
        self._configuration = folder / "apt.conf"
        self._write_configuration(sources)
        self._run("apt-get", "update", "-q")

    def newest(self, name_pattern: str) -> tuple[str, str] | None:
        """Name and version of the last matching package by name; None if there is none."""
        names = self._run("apt-cache", "pkgnames").split()
        for name in sorted((n for n in names if re.fullmatch(name_pattern, n)), reverse=True):
            match = re.search(r"Candidate: (\S+)", self._run("apt-cache", "policy", name))
            if match and match[1] != "(none)":
                return name, match[1]
        return None

    def download(self, name: str) -> list[Path]:
        """The `.deb` files of the package and of all that it depends on."""
        self._run("apt-get", "install", "-q", "--yes", "--download-only", name)
        return sorted((self._folder / "cache/archives").glob("*.deb"))

    def _write_configuration(self, sources: list[AptSource]) -> None:
        for name in ("state/lists/partial", "cache/archives/partial", "etc/parts", "log"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "state/status").touch()
        (self._folder / "etc/parts/private.sources").write_text(
            "\n".join(source.stanza() for source in sources), encoding="utf-8"
        )
        machine = self._run("apt-config", "dump", configured=False).splitlines()
        kept = [line for line in machine if _KEPT_SETTINGS.match(line)]
        self._configuration.write_text("\n".join([*kept, *self._settings()]) + "\n")

    def _settings(self) -> list[str]:
        empty = self._folder / "etc"
        settings = {
            "Dir::Etc": empty,
            "Dir::Etc::main": empty / "no-file",
            "Dir::Etc::parts": empty,
            "Dir::Etc::sourcelist": empty / "no-file",
            "Dir::Etc::sourceparts": empty / "parts",
            "Dir::Etc::preferences": empty / "no-file",
            "Dir::Etc::preferencesparts": empty,
            "Dir::Etc::trusted": APT_FOLDER / "trusted.gpg",
            "Dir::Etc::trustedparts": APT_FOLDER / "trusted.gpg.d",
            "Dir::Etc::netrcparts": APT_FOLDER / "auth.conf.d",
            "Dir::State": self._folder / "state",
            "Dir::State::status": self._folder / "state/status",
            "Dir::Cache": self._folder / "cache",
            "Dir::Log": self._folder / "log",
            "Acquire::Languages": "none",
            "APT::Install-Recommends": "false",
        }
        if os.geteuid() == 0:
            # apt would drop to a user who may not enter a private folder.
            settings["APT::Sandbox::User"] = "root"
        return [f'{name} "{value}";' for name, value in settings.items()]

    def _run(self, *command: str, configured: bool = True) -> str:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        if configured:
            environment["APT_CONFIG"] = str(self._configuration)
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=APT_TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise PackageDownloadFailed(f"{command[0]} took too long") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise PackageDownloadFailed(f"{' '.join(command[:2])}: {lines[-1]}")
        return done.stdout
