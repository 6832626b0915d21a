"""`python -m collection_pipeline.simulator`: the simulator without the rest of the project."""

import argparse
import sys
from collections.abc import Sequence

from collection_pipeline.simulator.foreground import serve


def run(argv: Sequence[str] | None = None) -> int:
    """Parse the options and serve; the answer is the exit code."""
    parser = argparse.ArgumentParser(prog="simulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--port", type=int, default=0, help="port of all platforms, 0 for any")
    parser.add_argument("--lever-eu-port", type=int, default=0, help="port of Lever's EU sites")
    parser.add_argument("--scenario", default=None, help="JSON file or packaged name (demo)")
    parser.add_argument("--log", default=None, help="file for the request log (JSON lines)")
    parser.add_argument("--access-key", default=None, help="the only Saramin key that is accepted")
    parser.add_argument("--separate-ports", action="store_true", help="one port per platform too")
    parser.add_argument("--library-csv", default=None, help="serve this CSV file's libraries")
    given = parser.parse_args(argv)
    try:
        serve(
            given.host,
            given.port,
            given.lever_eu_port,
            given.scenario,
            given.log,
            given.access_key,
            given.separate_ports,
            given.library_csv,
        )
    except (OSError, ValueError) as error:
        print(f"simulator: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
