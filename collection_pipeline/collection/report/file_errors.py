"""Why a report could not be written; apart, so that naming them does not load pandas."""


class CannotWriteReport(Exception):
    """The file cannot be written there; the message says why."""


class ParquetUnavailable(Exception):
    """The optional writer is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Parquet needs pyarrow, which is not installed: install the project's extra 'parquet', "
            "or write CSV"
        )
