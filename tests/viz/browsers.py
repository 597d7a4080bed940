"""The browser that the page is tested in, if there is one."""

import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NONE_HERE = "the page is not tested in a browser: install Chromium (on Debian: apt install chromium)"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def launched():
    """A browser, for a fixture."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def opening(browser):
    """Opens a page; nothing may go wrong in its console, and nothing may be fetched."""
    pages, wrong = [], []

    def open_page(path, viewport=DESKTOP, **options):
        # what scrolls smoothly would slide away under a click
        page = browser.new_page(viewport=viewport, reduced_motion="reduce", **options)
        pages.append(page)
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
        page.goto(path.resolve().as_uri())
        page.wait_for_function("document.querySelector('.plot svg') !== null")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert wrong == []


def fixtures():
    """Those of a test module: a browser, and what opens pages in it."""

    @pytest.fixture(scope="module", name="browser")
    def browser():
        yield from launched()

    @pytest.fixture(name="opened")
    def opened(browser):
        yield from opening(browser)

    return browser, opened
