"""One library ingest in a process of its own, for tests that kill it.

    python -m <this module> SOURCE FIRST LAST EDITION [FILE]

reads generated libraries FIRST to LAST - 1 in four pages (or FILE), reports the named points that
it passes as ``worker_entry`` does, and prints status, reason and counts as one JSON line.
"""

import json
import os
import signal
import sys
import threading
from dataclasses import asdict

from collection_pipeline import checkpoints
from collection_pipeline.domain.library import LibrarySnapshot
from collection_pipeline.ingest.assembly import assemble_ingest
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.library_rows import ServedSnapshot, library_rows, pages_of
from collection_pipeline_tests.kit.worker_entry import Points

PAGES = 4


def main(source: str, first: str, last: str, edition: str, file: str | None = None) -> None:
    """Run it once."""
    settings = load_settings(os.environ)
    assert settings.database_url is not None
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    rows = library_rows(range(int(first), int(last)), int(edition))
    config = IngestConfig.model_validate(
        {"source": source, "file": file, "deactivate_stale": True, "allow_shrink": False}
    )
    ingestion = assemble_ingest(settings, settings.database_url)
    snapshot: LibrarySnapshot = ServedSnapshot([pages_of(rows, max(1, len(rows) // PAGES))])
    if file is not None:
        snapshot = ingestion.snapshot(config)
    report = ingestion.service.run(config, snapshot, trigger="external", stop=stop)
    ingestion.close()
    print(
        json.dumps({"status": report.status, "reason": report.reason, **asdict(report.counts)}),
        flush=True,
    )


if __name__ == "__main__":
    watched = Points(dict(os.environ))
    checkpoints.install(watched.reach)
    main(*sys.argv[1:])
