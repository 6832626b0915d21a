"""Without a webhook a message goes to the log: one line each, never lost for want of a handler."""

import logging
import sys

from collection_pipeline.domain.notification import Notification, Severity
from collection_pipeline.notification.forms import log_line
from collection_pipeline.notification.sending import Logged

LOGGER_NAME = "collection_pipeline.notification"
_LEVELS = {
    Severity.INFO: logging.INFO,
    Severity.WARNING: logging.WARNING,
    Severity.INCIDENT: logging.ERROR,
}


class LogNotifier:
    """Writes to the logger ``collection_pipeline.notification``."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER_NAME)
        # Otherwise the root's level would drop a morning on which all is well.
        if self._logger.level == logging.NOTSET:
            self._logger.setLevel(logging.INFO)

    def send(self, notification: Notification, idempotency_key: str) -> Logged:
        """One line with the whole message and its key."""
        line = f"{log_line(notification)} [{idempotency_key}]"
        if self._logger.hasHandlers():
            self._logger.log(_LEVELS[notification.severity], "%s", line)
        else:
            # Where nobody has set logging up, Python drops what is less than a warning.
            print(line, file=sys.stderr)
        return Logged()
