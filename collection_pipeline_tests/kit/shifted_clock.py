"""A process whose wall clock is wrong, while its monotonic clock is right (R15).

Invariant: every way in which Python reads the time of day is shifted alike: ``time.time``,
``time_ns``, ``localtime``, ``gmtime`` and ``ctime`` without an argument, and ``datetime`` and
``date`` asked for now or today.
"""

import datetime as datetime_module
import time
from typing import Any

RIGHT_TIME = time.time


def shift_wall_clock(seconds: float) -> None:
    """From now on; call it before the modules that read the time are imported."""
    shifted = datetime_module.timedelta(seconds=seconds)
    right_datetime = datetime_module.datetime
    right_ns = time.time_ns

    class WrongKind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls.__mro__[1])

    class WrongDateTime(datetime_module.datetime, metaclass=WrongKind):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + shifted

        @classmethod
        def utcnow(cls) -> Any:
            return right_datetime.now(datetime_module.UTC).replace(tzinfo=None) + shifted

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class WrongDate(datetime_module.date, metaclass=WrongKind):
        @classmethod
        def today(cls) -> Any:
            return (right_datetime.now() + shifted).date()

    _shift_time_module(seconds)
    time.time_ns = lambda: right_ns() + int(seconds * 1e9)
    datetime_module.datetime = WrongDateTime  # type: ignore[misc]  # meant
    datetime_module.date = WrongDate  # type: ignore[misc]  # meant


def wrong_by() -> list[float]:
    """How far the ways of asking are from the right time, in whole seconds."""
    right = RIGHT_TIME()
    today = datetime_module.datetime.today().timestamp()
    asked = (
        time.time(),
        time.time_ns() / 1e9,
        time.mktime(time.localtime()),
        datetime_module.datetime.now(datetime_module.UTC).timestamp(),
        today,
    )
    return [round((one - right) / 10) * 10 for one in asked]


def _shift_time_module(seconds: float) -> None:
    for name in ("localtime", "gmtime", "ctime"):
        right = getattr(time, name)
        setattr(time, name, lambda at=None, right=right: right(time.time() if at is None else at))
    time.time = lambda: RIGHT_TIME() + seconds
