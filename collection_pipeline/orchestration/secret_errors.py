"""An error that quotes a secret ends here, as its own words without it (R29).

Dagster stores what an op raises with every cause and context, so redacting one message would not
do. Any other error passes as it is: its traceback is what a person needs.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from collection_pipeline.notification.secrecy import settings_redactor
from collection_pipeline.settings import Settings

WORDS_CHARS = 500


@contextmanager
def without_secrets(settings: Settings) -> Iterator[None]:
    """Raises ``dagster.Failure`` in the place of an error that shows a secret of ``settings``."""
    try:
        yield
    except Exception as error:
        redactor = settings_redactor(settings)
        told = "".join(traceback.format_exception(error))
        if redactor.text(told) == told:
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise dg.Failure(
            redactor.text(f"{type(error).__name__}: {error}")[:WORDS_CHARS],
            metadata={"where": f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"},
            allow_retries=False,
        ) from None
