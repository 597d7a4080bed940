"""Firefox, by its own remote protocol (Marionette): all that a smoke test needs, without a driver to install.

A message is its length, a colon and JSON: ``[0, id, command, parameters]`` there, ``[1, id, error, result]`` back.
"""

import json
import shutil
import socket
import subprocess
import time
from contextlib import closing, contextmanager

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
NONE_HERE = "the page is not tested in Firefox: install it (on Debian: apt install firefox-esr)"
START_S = 60
"""How long it may take to start."""
PREFERENCES = {
    "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.enabled": False,
    "browser.newtabpage.enabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "extensions.update.enabled": False,
}  # fmt: skip


class Firefox:
    """A connection to a running Firefox."""

    def __init__(self, port):
        with _connected(port) as connection:
            self.stream = connection.makefile("rwb")  # which keeps it open
        self.sent = 0
        self._receive()  # who it is
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"pageLoadStrategy": "normal"}})

    def call(self, command, **parameters):
        """What a command gives; an error if it fails."""
        self.sent += 1
        text = json.dumps([0, self.sent, command, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(text), text))
        self.stream.flush()
        _, _, error, result = self._receive()
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result.get("value") if isinstance(result, dict) else result

    def open(self, path):
        self.call("WebDriver:Navigate", url=path.resolve().as_uri())

    def run(self, script, *arguments):
        """The value that a script returns in the page."""
        return self.call("WebDriver:ExecuteScript", script=script, args=list(arguments))

    def wait_for(self, expression, seconds=20):
        """Until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({expression})"):
            assert time.monotonic() < end, expression
            time.sleep(0.1)

    def errors_of(self, path):
        """What went wrong in a page's scripts and styles, as the browser's console has it."""
        self.call("Marionette:SetContext", value="chrome")
        found = self.run(
            """return Services.console.getMessageArray().filter((each) => each instanceof Ci.nsIScriptError)
                .map((each) => [each.sourceName, `${each.category}: ${each.errorMessage}`])"""
        )
        self.call("Marionette:SetContext", value="content")
        return [text for source, text in found if source.startswith(path.resolve().as_uri())]

    def _receive(self):
        length = b""
        while (letter := self.stream.read(1)) != b":":
            assert letter, "Firefox has gone"
            length += letter
        return json.loads(self.stream.read(int(length)))


@contextmanager
def started(folder):
    """Firefox with a profile of its own in a folder, for as long as it is needed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {**PREFERENCES, "marionette.port": port}
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
    (folder / "user.js").write_text("".join(lines))
    words = [
        FIREFOX,
        "--headless",
        "--marionette",
        "--remote-allow-system-access",
        "--no-remote",
        "--profile",
        str(folder),
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with closing((firefox := Firefox(port)).stream):
            yield firefox
    finally:
        process.terminate()
        process.wait(20)


def _connected(port):
    end = time.monotonic() + START_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=START_S)
        except ConnectionRefusedError:
            assert time.monotonic() < end, "Firefox did not start"
            time.sleep(0.2)
