"""SQL that a starting server runs before it takes its first connection.

Invariant: the file is readable by its owner only and is deleted as soon as the server answers.
Each statement stands on a line of its own, as both servers want it.
"""

from pathlib import Path

OWNER = "collection_owner"


def account_statements(user: str, password: str) -> list[str]:
    """Makes an account, or gives an existing one this password."""
    return [
        f"CREATE USER IF NOT EXISTS '{user}'@'%' IDENTIFIED BY '{password}';",
        f"ALTER USER '{user}'@'%' IDENTIFIED BY '{password}';",
    ]


def write_start_file(path: Path, owner_password: str, statements: list[str]) -> Path:
    """The owner's account, which may do everything, and `statements`; nobody else is root."""
    lines = [
        *account_statements(OWNER, owner_password),
        f"GRANT ALL PRIVILEGES ON *.* TO '{OWNER}'@'%' WITH GRANT OPTION;",
        "ALTER USER 'root'@'localhost' ACCOUNT LOCK;",
        *statements,
    ]
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
