"""A command that cannot begin says nothing of what it was given (R29).

What becomes of secrets in work that fails is in ``proof/test_secrets``.
"""

from sqlalchemy.engine import make_url

from collection_pipeline_tests.kit.invariants import secrets_in
from collection_pipeline_tests.kit.worker_process import TICK, WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack


def test_an_unexpected_error_of_a_command_shows_no_secret(open_stack: OpenStack) -> None:
    """R29: neither a refused database nor a refused setting repeats what it was given."""
    stack = open_stack()
    secret = "pass+word/=%41"
    environments = [
        {"COLLECTION_DATABASE_URL": "mysql://user:pass%2Bword%2F%3D%2541@127.0.0.1:1/none"},
        {"COLLECTION_DATABASE_URL": "postgres://user:pass%2Bword%2F%3D%2541@127.0.0.1:1/none"},
        {"COLLECTION_SARAMIN_BASE_URL": "http://user:pass%2Bword%2F%3D%2541@127.0.0.1:1"},
        {"COLLECTION_SARAMIN_ACCESS_KEY": secret, "COLLECTION_SARAMIN_ACCESS_KEY_FILE": secret},
    ]
    for changed in environments:
        with WorkerProcess({**stack.environment, **changed}, TICK, log_level="DEBUG") as worker:
            assert worker.wait() == 3, worker.output
            assert not secrets_in([worker.output], [secret])


def password_of(url: str) -> str:
    """The database password in a URL, as it was before quoting."""
    return str(make_url(url).password)
