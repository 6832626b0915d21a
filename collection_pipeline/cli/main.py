"""``collection-pipeline``: every error becomes one clear sentence and its exit code.

No traceback reaches the user: it could show what an exception's frames hold (R29).
"""

import sys
from collections.abc import Sequence

import typer
from sqlalchemy.exc import SQLAlchemyError

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.commands import app
from collection_pipeline.cli.database import DatabaseUnusable, NoDatabase
from collection_pipeline.collection.dispatch import TickFailed
from collection_pipeline.collection.registration import BadSourceRows
from collection_pipeline.collection.report.file_errors import (
    CannotWriteReport,
    ParquetUnavailable,
)
from collection_pipeline.collection.retention import RetentionFailed
from collection_pipeline.demo.dagster_home import NoDagsterHome
from collection_pipeline.demo.dagster_runs import DagsterRunFailed
from collection_pipeline.demo.services import ServiceEnded
from collection_pipeline.demo.summary import DemoDiffers
from collection_pipeline.domain.budget import InvalidBudget
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.local_db.errors import LocalDatabaseError
from collection_pipeline.operations.listening import CannotServe
from collection_pipeline.platforms.gateway import BadDescriptor
from collection_pipeline.settings import InvalidSetting
from collection_pipeline.simulator.scenario import ScenarioError
from collection_pipeline.store.clock import ClockCannotGoBack
from collection_pipeline.store.flags import UnknownFlag
from collection_pipeline.store.migration import MigrationBusy, SchemaBehind
from collection_pipeline.store.sources import UnknownSource
from collection_pipeline.store.transaction import in_words

EXIT_CODES: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    (
        (
            *BadDescriptor,
            BadSourceRows,
            CannotWriteReport,
            ClockCannotGoBack,
            InvalidBudget,
            ScenarioError,
            UnknownFlag,
            UnknownSource,
        ),
        exit_codes.USAGE,
    ),
    (
        (
            CannotServe,
            DatabaseUnavailable,
            DatabaseUnusable,
            InvalidSetting,
            LocalDatabaseError,
            NoDagsterHome,
            NoDatabase,
            ParquetUnavailable,
            SchemaBehind,
        ),
        exit_codes.UNUSABLE,
    ),
    (
        (DagsterRunFailed, DemoDiffers, RetentionFailed, ServiceEnded, TickFailed),
        exit_codes.WORK_FAILED,
    ),
    ((MigrationBusy,), exit_codes.TRY_LATER),
)

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """The exit code of one command; what went wrong is on standard error."""
    command = typer.main.get_command(app)
    try:
        command.main(arguments, prog_name="collection-pipeline")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else exit_codes.DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _explained(error)
    return exit_codes.DONE


def _explained(error: Exception) -> int:
    for kinds, code in EXIT_CODES:
        if isinstance(error, kinds):
            print(f"collection-pipeline: {error}", file=sys.stderr)
            return code
    if isinstance(error, SQLAlchemyError):
        print(f"collection-pipeline: {in_words(error)}", file=sys.stderr)
        return exit_codes.UNUSABLE
    print(
        f"collection-pipeline: unexpected {type(error).__name__}; this is a defect of the program",
        file=sys.stderr,
    )
    return exit_codes.UNEXPECTED


if __name__ == "__main__":
    main()
