"""The page server alone: reads every page and throws it away, so that its own speed is known."""

import http.client
import threading

from benchmarks.contest.task import ContestTask, ready

THREADS_PER_SOURCE = 1


def discard(task: ContestTask, word: str) -> None:
    """Every page of one source over one connection."""
    host, _, port = task.base_url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port))
    for page in range(task.pages):
        connection.request("GET", task.target(word, page))
        connection.getresponse().read()


def main() -> None:
    """One thread a source, as many requests at a time as most contestants have."""
    task = ContestTask.read()
    ready()
    pool = [threading.Thread(target=discard, args=(task, word)) for word in task.keywords]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()


if __name__ == "__main__":
    main()
