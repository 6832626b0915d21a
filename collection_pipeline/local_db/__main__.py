"""`python -m collection_pipeline.local_db start|stop|status`: the private server by hand.

Prints one line of JSON without any password. Ends with 0, 2 for a wrong call, or 3 if the server
cannot be used; `status` ends with 3 also when no server runs.
"""

import json
import sys

from collection_pipeline.local_db.errors import LocalDatabaseError
from collection_pipeline.local_db.persistent import (
    LocalDatabase,
    local_status,
    start_local,
    stop_local,
)

EXIT_DONE = 0
EXIT_USAGE = 2
EXIT_DATABASE = 3


def main(arguments: list[str]) -> int:
    """Carries out one verb and returns the exit code."""
    try:
        match arguments:
            case ["start"]:
                return _print(start_local())
            case ["status"]:
                return _print(local_status())
            case ["stop"]:
                print(json.dumps({"stopped": stop_local()}))
                return EXIT_DONE
    except LocalDatabaseError as error:
        print(error, file=sys.stderr)
        return EXIT_DATABASE
    print("usage: python -m collection_pipeline.local_db start|stop|status", file=sys.stderr)
    return EXIT_USAGE


def _print(database: LocalDatabase | None) -> int:
    if database is None:
        print(json.dumps({"running": False}))
        return EXIT_DATABASE
    shown = {
        "running": True,
        "private": database.kind is not None,
        "kind": database.kind,
        "version": database.version,
        "pid": database.pid,
        "port": database.port,
    }
    print(json.dumps(shown))
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
