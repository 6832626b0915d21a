"""Promises are tried in a database that is empty before and after each test."""

from collection_pipeline_tests.kit.stack_fixtures import open_stack

__all__ = ["open_stack"]
