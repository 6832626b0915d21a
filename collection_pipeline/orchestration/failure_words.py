"""Why something ended early, in one sentence: the cause, then what to do (R29).

Invariant: no secret is in a sentence. What an exception of unknown kind says passes the redactor,
which knows every secret of the settings and the passwords of the databases' addresses; where the
settings themselves are wrong, only the kind of such an exception is named.
"""

import os
import traceback
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from collection_pipeline.collection.dispatch import TickFailed
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.notification.secrecy import settings_redactor
from collection_pipeline.orchestration.morning_hook import SnapshotNotFinal
from collection_pipeline.platforms.wire.redaction import Redactor
from collection_pipeline.settings import InvalidSetting, load_settings
from collection_pipeline.store.migration import SchemaBehind
from collection_pipeline.store.transaction import is_lost, mysql_error_code

MOST_SENTENCE_CHARS = 500
MOST_FRAMES = 10
PACKAGE = f"{os.sep}collection_pipeline{os.sep}"
WRAPPER = "told_failure.py"
REFUSED_LOGIN = frozenset({1044, 1045, 1049, 1698})
"""MySQL: no such user, password, database, or no right to it."""

DATABASE_AWAY = (
    "What is stored is safe, and the next run goes on once it answers: "
    "docs/operations.md#the-database-hangs-or-is-away."
)
CHECK_ADDRESS = "Check user, password and name in COLLECTION_DATABASE_URL."
RESTART = "Set it right and restart the code server; 'collection-pipeline check' tells in advance."
TICK_FAILED = (
    "Stored slices are kept, recovery ends the others. If the next runs fail too, switch "
    "dispatching off: docs/operations.md#switching-off."
)
UNEXPECTED = "This is a fault of the pipeline: report it with 'where' and 'trace'."


def sentence_of(error: Exception) -> str:
    """One line of at most 500 characters; a known cause says what to do."""
    if isinstance(error, InvalidSetting):
        # Settings that are wrong cannot say which texts are secret; their message shows none.
        return _joined(str(error), RESTART)
    redactor = _redactor()
    if redactor is None:
        return _joined(f"{type(error).__name__} while a setting is wrong", RESTART)
    return _joined(redactor.text(_said(error)), _advice(error))


def where_of(error: Exception) -> dict[str, str]:
    """Kind and places, our own and the innermost: a line of source could hold anything."""
    frames = list(traceback.extract_tb(error.__traceback__))
    own = [one for one in frames if PACKAGE in one.filename and WRAPPER not in one.filename]
    places = [_place(one) for one in [*own, frames[-1]]]
    return {
        "kind": type(error).__name__,
        "where": _place(own[-1] if own else frames[-1]),
        "trace": "\n".join(dict.fromkeys(places[-MOST_FRAMES:])),
    }


def _place(frame: traceback.FrameSummary) -> str:
    return f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"


def _said(error: Exception) -> str:
    if isinstance(error, DBAPIError):
        return _mysql_words(error)
    if isinstance(error, DatabaseUnavailable | SchemaBehind | TickFailed | SnapshotNotFinal):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}"


def _advice(error: Exception) -> str:
    if isinstance(error, DBAPIError) and mysql_error_code(error) in REFUSED_LOGIN:
        return CHECK_ADDRESS
    if isinstance(error, DatabaseUnavailable) or (isinstance(error, DBAPIError) and is_lost(error)):
        return DATABASE_AWAY
    if isinstance(error, SchemaBehind):
        return "See docs/runbook.md#schema_current."
    if isinstance(error, TickFailed):
        return TICK_FAILED
    if isinstance(error, SnapshotNotFinal):
        return "Run it again when the capture has ended: docs/operations.md#the-morning-hook."
    return UNEXPECTED


def _mysql_words(error: DBAPIError) -> str:
    told = error.orig.args if error.orig is not None else ()
    if len(told) >= 2 and mysql_error_code(error) is not None:
        return f"MySQL error {told[0]} of the queue's database: {told[1]}"
    return f"the queue's database: {error.orig}"


def _redactor() -> Redactor | None:
    try:
        return settings_redactor(load_settings(os.environ))
    except InvalidSetting:
        return None


def _joined(words: str, advice: str) -> str:
    line = " ".join(words.split())
    return f"{line[: MOST_SENTENCE_CHARS - len(advice) - 2].rstrip('. ')}. {advice}"
