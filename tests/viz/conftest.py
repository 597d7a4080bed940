"""Says so where the page could not be tested in a browser."""

from browsers import CHROMIUM, NONE_HERE


def pytest_terminal_summary(terminalreporter):
    if CHROMIUM is None:
        terminalreporter.write_line(NONE_HERE)
