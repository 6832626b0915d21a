"""Every op and tick ends early in the same way: one sentence first, a run's title too (R29).

Invariant: the exception itself goes no further. Dagster would store its message, causes and
contexts, each of which may quote what a platform, a driver or a hook said.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar, cast

import dagster as dg

from collection_pipeline.orchestration.failure_words import sentence_of, where_of
from collection_pipeline.orchestration.run_result import RunContext, show_result

P = ParamSpec("P")
R = TypeVar("R")


def told_failure(compute: Callable[P, R]) -> Callable[P, R]:
    """``compute``, whose errors become ``dg.Failure``; its first argument is the context."""
    if inspect.isgeneratorfunction(compute):

        @functools.wraps(compute)
        def yielding(*arguments: P.args, **named: P.kwargs) -> Iterator[object]:
            with _telling(_context(arguments, named)):
                yield from cast(Iterator[object], compute(*arguments, **named))

        return cast(Callable[P, R], yielding)

    @functools.wraps(compute)
    def returning(*arguments: P.args, **named: P.kwargs) -> R:
        with _telling(_context(arguments, named)):
            return compute(*arguments, **named)

    return returning


def told_tick(evaluate: Callable[P, R]) -> Callable[P, R]:
    """The same for a sensor or schedule: there is no run yet, the tick shows the sentence."""

    @functools.wraps(evaluate)
    def evaluating(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return evaluate(*arguments, **named)
        except Exception as error:
            raise dg.Failure(sentence_of(error), metadata=where_of(error)) from None

    return evaluating


@contextmanager
def _telling(context: RunContext) -> Iterator[None]:
    try:
        yield
    except dg.Failure as failure:
        show_result(context, failure.description or "")
        raise
    except Exception as error:
        sentence = sentence_of(error)
        show_result(context, sentence)
        raise dg.Failure(sentence, metadata=where_of(error), allow_retries=False) from None


def _context(arguments: tuple[object, ...], named: dict[str, object]) -> RunContext:
    return cast(RunContext, arguments[0] if arguments else named["context"])
