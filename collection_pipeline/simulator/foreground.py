"""The simulator as a process of its own: prints where it listens, ends on SIGTERM or SIGINT."""

import signal
import sys
from pathlib import Path
from threading import Event
from types import FrameType

from collection_pipeline.simulator.library_rule import DEFAULT_SERVICE_KEY
from collection_pipeline.simulator.scenario import DEFAULT_ACCESS_KEY
from collection_pipeline.simulator.server import SERVICE_KEY_NAME, SimulatorServer

SWITCH_SECONDS = 0.000_5  # a woken reader must not wait 5 ms for a busy thread (I6)
DEFAULT_SCENARIO = "demo"


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    lever_eu_port: int = 0,
    scenario_path: str | Path | None = None,
    log_path: str | Path | None = None,
    access_key: str | None = None,
    separate_ports: bool = False,
    library_csv: str | Path | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. Port 0 takes a free one.

    `scenario_path` is a JSON file or the name of a packaged scenario, `demo` by default;
    `library_csv` a CSV file of the portal that takes the place of generated libraries. Call it
    from the main thread. Raises OSError when a port is taken and ValueError for a bad file.
    """
    stopping = Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    sys.setswitchinterval(SWITCH_SECONDS)
    server = SimulatorServer(
        host=host,
        port=port,
        scenario=scenario_path or DEFAULT_SCENARIO,
        log_path=log_path,
        access_key=access_key,
        lever_eu_port=lever_eu_port,
        separate_ports=separate_ports,
        library_csv=library_csv,
    )
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with server:
            server.warm()
            announce(server)
            stopping.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def announce(server: SimulatorServer) -> None:
    """Print the addresses as shell exports; a key of the caller's own is not repeated."""
    print(f"# platform simulator on {server.base_url} (admin: {server.base_url}/__simulator/)")
    for name, value in server.exports().items():
        if name != SERVICE_KEY_NAME or value == DEFAULT_SERVICE_KEY:
            print(f"export {name}={value}")
    if server.access_key == DEFAULT_ACCESS_KEY:
        print(f"export COLLECTION_SARAMIN_ACCESS_KEY={DEFAULT_ACCESS_KEY}")
    sys.stdout.flush()
