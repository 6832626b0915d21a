"""The README's screenshots: ``make screenshots`` draws them anew from an invented morning."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser

from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.browser import NoChromium, opened_browser, opened_page
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.operations_client import Operations, opened_operations
from collection_pipeline_tests.kit.page_world import opened_morning
from collection_pipeline_tests.kit.servers import create_database, private_server

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZE = (1280, 1160)
SOURCE = "원티드 · 백엔드 개발"
NO_FONT = "no font here has Korean letters: install the package fonts-noto-cjk"


def main() -> int:
    """Write both pictures and say where; 1 with a sentence where that cannot be done."""
    try:
        if not _has_korean_font():
            raise RuntimeError(NO_FONT)
        with private_server() as server, opened_browser() as browser:
            url = create_database(server)
            engine = open_engine(url)
            migrate(engine)
            engine.dispose()
            with closing(Store(url, now=None)) as store:
                sources = opened_morning(store).sources
                with opened_operations(url, DAGSTER_UI_URL="http://127.0.0.1:3000") as operations:
                    _draw(browser, operations, "/", "operations-today")
                    _draw(browser, operations, f"/sources/{sources[SOURCE]}", "operations-source")
    except (NoChromium, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _draw(browser: Browser, operations: Operations, path: str, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    picture = FOLDER / f"{name}.png"
    with opened_page(browser, str(operations.client.base_url), size=SIZE) as shown:
        shown.goto(path)
        shown.screenshot(path=picture)
    print(picture.relative_to(FOLDER.parents[1]))


def _has_korean_font() -> bool:
    asked = subprocess.run(["fc-list", ":lang=ko"], capture_output=True, check=False, timeout=60)
    return bool(asked.stdout.strip())


if __name__ == "__main__":
    sys.exit(main())
