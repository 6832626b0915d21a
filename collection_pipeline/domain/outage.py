"""The queue's database is away for longer than one short transaction is tried."""


class DatabaseUnavailable(Exception):
    """The database did not answer within the time that the work could be tried."""
