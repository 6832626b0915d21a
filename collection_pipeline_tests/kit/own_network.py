"""Runs one test again in namespaces of its own, where an ordinary user may build a network.

Invariant: nothing that such a test makes outlives it. Its interfaces, mounts and processes belong
to namespaces whose first process is the test; the kernel ends them with it. A machine that lacks a
tool, or forbids namespaces, fails the test and says what to do; it never skips.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from collection_pipeline_tests.kit.servers import BASE_FOLDER_VARIABLE, base_folder

ROOT = Path(__file__).parents[2]
INSIDE_VARIABLE = "COLLECTION_TEST_IN_OWN_NETWORK"
LONGEST_SECONDS = 280
"""Less than the suite's time-out, so that what the inner test said is shown."""
PACKAGES = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}
OWN_NAMESPACES = (
    "unshare",
    *("--user", "--map-root-user", "--net", "--uts", "--mount"),
    *("--pid", "--mount-proc", "--fork", "--kill-child"),
    *("sh", "-c", 'ip link set lo up && exec "$@"', "sh"),
)


def in_a_network_of_its_own(test: Callable[..., None]) -> Callable[..., None]:
    """The same test, carried out by a pytest of its own that is root in fresh namespaces.

    The outer test asks for none of the inner one's fixtures, so nothing is started twice.
    """
    if os.environ.get(INSIDE_VARIABLE):
        return test

    def carried_out_inside(request: pytest.FixtureRequest) -> None:
        _assert_machine_can()
        _carry_out(request.node.nodeid)

    carried_out_inside.__name__ = test.__name__
    carried_out_inside.__doc__ = test.__doc__
    return carried_out_inside


def _assert_machine_can() -> None:
    for tool, package in PACKAGES.items():
        assert shutil.which(tool), f"the program {tool!r} is missing: install {package}"
    tried = subprocess.run(
        [*OWN_NAMESPACES, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert tried.returncode == 0, (
        "this machine lets no ordinary user make a network namespace: set user.max_user_namespaces "
        "above 0, kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns"
        f" as the system asks, or run in a privileged container. It said: {tried.stderr.strip()}"
    )


def _carry_out(node_id: str) -> None:
    with tempfile.TemporaryDirectory(dir=base_folder(), prefix=f"{os.getpid()}-net-") as folder:
        _lend_data_folders(Path(folder))
        kept = {name: value for name, value in os.environ.items() if "PYTEST_" not in name}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
        inner = subprocess.Popen(
            [*OWN_NAMESPACES, *command, f"--basetemp={folder}/tests", node_id],
            env={**kept, INSIDE_VARIABLE: "1", BASE_FOLDER_VARIABLE: folder},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            said, _ = inner.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            inner.kill()
            said, _ = inner.communicate()
        finally:
            inner.kill()
            inner.wait()
        assert inner.returncode == 0, said
        # A run that found no test, or skipped it, has shown nothing.
        assert "1 passed" in said, said


def _lend_data_folders(folder: Path) -> None:
    for original in base_folder().glob("data-*"):
        (folder / original.name).symlink_to(original)
