"""Reads what ``pip-audit`` found, and says whether it could look at all.

``pip-audit`` ends well also where no index told it anything, as on a machine that only reaches a
mirror of the packages; so silence is told apart from health here.

``python -m <this module> REPORT`` ends with 0 when every pinned version was checked, 4 for a
finding, 75 when versions went unchecked.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

CHECKED, FOUND, UNCHECKED = 0, 4, 75


@dataclass(frozen=True)
class Audit:
    """Names with versions, by what is known of them."""

    checked: list[str]
    unchecked: list[str]
    findings: list[str]

    @property
    def exit_code(self) -> int:
        """A finding counts more than what could not be looked at."""
        if self.findings:
            return FOUND
        return UNCHECKED if self.unchecked or not self.checked else CHECKED

    @property
    def sentence(self) -> str:
        """What a person has to know."""
        if not self.checked and not self.findings:
            return (
                "no index of known vulnerabilities could be reached from here: not one pinned "
                "version was checked"
            )
        said = f"{len(self.checked)} pinned versions checked, {len(self.findings)} findings"
        left = f"; {len(self.unchecked)} could not be checked: {', '.join(self.unchecked)}"
        return said + (left if self.unchecked else "")


def read_audit(report: Path) -> Audit:
    """The report in pip-audit's JSON form; one that was never written has checked nothing."""
    if not report.is_file() or not report.read_text("utf-8").strip():
        return Audit([], [], [])
    found = json.loads(report.read_text("utf-8"))["dependencies"]
    checked = [one for one in found if "skip_reason" not in one]
    return Audit(
        [f"{one['name']} {one['version']}" for one in checked],
        sorted(one["name"] for one in found if "skip_reason" in one),
        [
            f"{one['name']} {one['version']}: {each['id']}, mended in "
            f"{', '.join(each['fix_versions']) or 'no version'}"
            for one in checked
            for each in one["vulns"]
        ],
    )


def main(report: str) -> int:
    """Prints the findings and the sentence; the exit code."""
    audit = read_audit(Path(report))
    for finding in audit.findings:
        print(finding)
    print(audit.sentence)
    return audit.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
