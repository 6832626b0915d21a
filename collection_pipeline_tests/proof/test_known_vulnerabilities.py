"""`make audit` never takes silence for health."""

import json
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline_tests.kit.known_vulnerabilities import (
    CHECKED,
    FOUND,
    UNCHECKED,
    main,
)

GOOD: dict[str, Any] = {"name": "good", "version": "1.0", "vulns": []}
BAD: dict[str, Any] = {
    "name": "bad",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["2.1"], "aliases": [], "description": "x"}],
}
UNKNOWN: dict[str, Any] = {"name": "unknown", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ([GOOD], CHECKED, "1 pinned versions checked, 0 findings"),
        ([GOOD, BAD], FOUND, "bad 2.0: PYSEC-2026-1, mended in 2.1"),
        ([BAD, UNKNOWN], FOUND, "1 pinned versions checked, 1 findings; 1 could not"),
        ([GOOD, UNKNOWN], UNCHECKED, "1 could not be checked: unknown"),
        ([UNKNOWN], UNCHECKED, "not one pinned version was checked"),
        ([], UNCHECKED, "not one pinned version was checked"),
        (None, UNCHECKED, "not one pinned version was checked"),
    ],
)
def test_a_version_that_nobody_looked_at_is_not_a_safe_one(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    found: list[dict[str, Any]] | None,
    code: int,
    said: str,
) -> None:
    """Where no index can be reached the command says so and does not end well."""
    report = tmp_path / "audit.json"
    if found is not None:
        report.write_text(json.dumps({"dependencies": found, "fixes": []}), encoding="utf-8")
    assert main(str(report)) == code
    assert said in capsys.readouterr().out
