"""The browser that the page is tested in, if there is one."""

import shutil

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NONE_HERE = "the page is not tested in a browser: install Chromium (on Debian: apt install chromium)"
