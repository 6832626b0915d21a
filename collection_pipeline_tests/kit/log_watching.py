"""What a test made the HTTP libraries log, at the lowest level and without an earlier filter."""

import logging

import pytest

from collection_pipeline.platforms.wire.redaction import LIBRARY_LOGGERS, LogRedaction


def log_everything(caplog: pytest.LogCaptureFixture) -> None:
    """As when somebody hunts a fault; no redaction is left from before."""
    for name in LIBRARY_LOGGERS:
        logger = logging.getLogger(name)
        for known in [each for each in logger.filters if isinstance(each, LogRedaction)]:
            logger.removeFilter(known)
    for name in ("", "urllib3", "requests"):
        caplog.set_level(logging.DEBUG, name)


def logged_by_the_test(caplog: pytest.LogCaptureFixture) -> str:
    """Messages and records; ``caplog.text`` is emptied before a fixture's end, this is not."""
    records = caplog.get_records("call")
    return "".join(f"{record.getMessage()} {record.__dict__}" for record in records)
