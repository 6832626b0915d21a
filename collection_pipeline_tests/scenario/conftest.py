"""Whole days in a database that is empty before and after each test."""

from pathlib import Path

import pytest

from collection_pipeline_tests.kit.older_release import FIRST, unpacked
from collection_pipeline_tests.kit.stack_fixtures import OpenStack, open_stack

__all__ = ["OpenStack", "open_stack"]


@pytest.fixture(scope="session")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of release 0.1.0; unpacked once, so that Python compiles them once."""
    return unpacked(FIRST, tmp_path_factory.mktemp("releases"))
