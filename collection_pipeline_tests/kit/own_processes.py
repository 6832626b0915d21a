"""A function in processes of their own, at the same time."""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_own_processes(work: Callable[..., T], arguments: Sequence[tuple[object, ...]]) -> list[T]:
    """``work`` of each arguments, a process each; their results in order.

    The processes are asked to end, not killed: one that inherited an ignored SIGTERM would stay.
    """
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(arguments), mp_context=spawning) as processes:
        return list(processes.map(work, *zip(*arguments, strict=True)))
