"""Chromium for tests: one browser a run; a machine without it fails, since nothing here skips.

``CHROMIUM`` names the program; else it is looked for in its usual places.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

USUAL_PLACE = "/usr/bin/chromium"
USUAL_NAMES = ("chromium", "chromium-browser", "google-chrome")
DESKTOP = (1280, 900)
PHONE = (390, 844)


class NoChromium(RuntimeError):
    """There is no Chromium here; the message says what to install."""

    def __init__(self) -> None:
        super().__init__(
            "the browser tests need Chromium: install the package chromium (apt-get install "
            "chromium), or name a program by CHROMIUM=/path/to/chromium"
        )


def chromium_program() -> str:
    """The program to start; raises ``NoChromium``."""
    named = os.environ.get("CHROMIUM")
    if named:
        if not Path(named).is_file():
            raise NoChromium
        return named
    if Path(USUAL_PLACE).is_file():
        return USUAL_PLACE
    found = next((path for name in USUAL_NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NoChromium
    return found


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """A headless browser; its sandbox is given up only where root could not have one."""
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_program(), args=arguments, headless=True
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened_page(
    browser: Browser,
    address: str,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    script: bool = True,
) -> Iterator[Page]:
    """A fresh tab with cookies and cache of its own; addresses are relative to ``address``."""
    context = browser.new_context(
        base_url=address,
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
        locale="ko-KR",
        timezone_id="Asia/Seoul",
    )
    try:
        yield context.new_page()
    finally:
        context.close()
