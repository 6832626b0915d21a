"""One secret of every kind, each with a word of its own, planted in all settings of a stack.

Invariant: the values hold every character that an encoder changes, and a word that none changes, so
that a finding names the secret whatever became of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit import library_leaks
from collection_pipeline_tests.kit.webhook_receiver import SECRET_WORDS

ODD = "+/ %41&=\"<>'@:#"
SARAMIN_KEY = f"pl4ntedSARAMINword{ODD}=="
TOKEN = f"pl4ntedTOKENword{ODD}ö"
PASSWORD = "pl4ntedDATABASEword+/@:#%?&="
DAGSTER_PASSWORD = "pl4ntedDAGSTERword+/@:#%?&="
WRONG_PASSWORD = "pl4ntedWRONGword+/@:#%?&="
HOOK_TOKEN = "q4nted Token/+"

SECRETS = {
    "the Saramin key": SARAMIN_KEY,
    "the library key": library_leaks.KEY,
    "the operations token": TOKEN,
    "the database password": PASSWORD,
    "Dagster's database password": DAGSTER_PASSWORD,
    "the wrong password": WRONG_PASSWORD,
    "the webhook's query": HOOK_TOKEN,
    **{f"the webhook's word {number}": word for number, word in enumerate(SECRET_WORDS, 1)},
}


@dataclass(frozen=True)
class PlantedUrls:
    """The databases under accounts whose passwords are planted; ``wrong`` is refused."""

    url: str
    dagster_url: str
    wrong: str


@contextmanager
def planted_accounts(server: PrivateServer, url: str, dagster_url: str) -> Iterator[PlantedUrls]:
    """Accounts of their own for both databases; gone afterwards."""
    accounts = {"planted": (PASSWORD, url), "planted_dagster": (DAGSTER_PASSWORD, dagster_url)}
    for user, (password, address) in accounts.items():
        server.execute(
            f"CREATE USER '{user}'@'%' IDENTIFIED BY '{password}'",
            f"GRANT ALL PRIVILEGES ON `{_database(address)}`.* TO '{user}'@'%'",
        )
    try:
        yield PlantedUrls(
            server.url_for("planted", PASSWORD, _database(url)),
            server.url_for("planted_dagster", DAGSTER_PASSWORD, _database(dagster_url)),
            server.url_for("planted", WRONG_PASSWORD, _database(url)),
        )
    finally:
        server.execute(*(f"DROP USER '{user}'@'%'" for user in accounts))


def _database(url: str) -> str:
    return url.rsplit("/", 1)[1].split("?", 1)[0]
