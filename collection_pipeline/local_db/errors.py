"""What can go wrong around the private database server: one class per cause.

The class's docstring is its message; a detail is appended where the cause has one.
"""

from inspect import cleandoc


class LocalDatabaseError(Exception):
    """The private database server cannot be used."""

    def __init__(self, detail: str = "") -> None:
        message = cleandoc(type(self).__doc__ or "").replace("\n", " ")
        super().__init__(f"{message} ({detail})" if detail else message)


class HomeIsNoFolder(LocalDatabaseError):
    """The private server and its state live in a folder: COLLECTION_HOME names a file."""


class AddressFileUnreadable(LocalDatabaseError):
    """The file that holds a database's address cannot be read."""


class ServerMissing(LocalDatabaseError):
    """No MySQL or MariaDB server was found: install the package mysql-server-core or
    mariadb-server-core, or set COLLECTION_DATABASE_URL to a server that runs already."""


class WrongServerKind(LocalDatabaseError):
    """The database server is not of the kind that was asked for."""


class PackageToolMissing(LocalDatabaseError):
    """This machine has no apt-get and dpkg-deb to fetch a database server with."""


class PackageSourcesMissing(LocalDatabaseError):
    """The package sources of this machine name no archive that has the database server."""


class PackageDownloadFailed(LocalDatabaseError):
    """The package of the database server could not be downloaded."""


class PackageUnpackFailed(LocalDatabaseError):
    """The package of the database server could not be unpacked."""


class ServerFilesIncomplete(LocalDatabaseError):
    """The database server is installed without a file that it needs."""


class DataFolderNotInitialised(LocalDatabaseError):
    """The database server could not make its data folder."""


class ServerDidNotStart(LocalDatabaseError):
    """The database server ended, or gave no answer, while it was starting."""


class ServerNotRunning(LocalDatabaseError):
    """The database server is not running."""


class ServerDidNotStop(LocalDatabaseError):
    """The database server is still alive after it was killed."""


class StateFileUnreadable(LocalDatabaseError):
    """The file that describes the private database server cannot be read: delete its folder."""
