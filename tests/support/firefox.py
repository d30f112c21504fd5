"""Firefox without a screen, driven by the protocol it speaks itself (Marionette)."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, contextmanager
from itertools import count


class Firefox:
    """Sends commands ``length:[0, number, name, parameters]`` and reads what they return."""

    def __init__(self, port: int, deadline: float) -> None:
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        self._numbers = count(1)
        self._read()  # its greeting
        self.send("WebDriver:NewSession", {})

    def send(self, name: str, parameters: dict) -> object:
        body = json.dumps([0, next(self._numbers), name, parameters]).encode()
        self._socket.sendall(f"{len(body)}:".encode() + body)
        _, _, error, found = self._read()
        assert error is None, error
        return found

    def close(self) -> None:
        self._socket.close()

    def open(self, address: str) -> None:
        self.send("WebDriver:Navigate", {"url": address})

    def run(self, script: str) -> object:
        """Return what a script on the page returns."""
        return self._run("content", script)

    def wait_for(self, script: str, until: Callable[[object], object] = bool) -> None:
        """Return when what a script returns is as asked for, after half a minute in any case."""
        end = time.monotonic() + 30
        while not until(self.run(script)) and time.monotonic() < end:
            time.sleep(0.1)

    def complaints(self) -> list[str]:
        """Return errors and warnings of pages in files, from Firefox's own console."""
        script = """return Services.console.getMessageArray()
            .filter((m) => m instanceof Ci.nsIScriptError && /^file:/.test(m.sourceName))
            .map((m) => m.errorMessage)"""
        return self._run("chrome", script)

    def _run(self, context: str, script: str) -> object:
        self.send("Marionette:SetContext", {"value": context})
        found = self.send("WebDriver:ExecuteScript", {"script": script, "args": []})
        self.send("Marionette:SetContext", {"value": "content"})
        return found["value"]

    def _read(self) -> list:
        size = b""
        while not size.endswith(b":"):
            size += self._socket.recv(1)
        body = b""
        while len(body) < int(size[:-1]):
            body += self._socket.recv(int(size[:-1]) - len(body))
        return json.loads(body)


@contextmanager
def started(executable: str, folder):
    """Give a Firefox with an empty profile in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "user.js").write_text(
        f'user_pref("marionette.port", {port});\nuser_pref("app.update.enabled", false);\n'
    )
    command = [executable, "--headless", "--marionette", "--remote-allow-system-access"]
    process = subprocess.Popen(
        [*command, "--no-remote", "--profile", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with closing(Firefox(port, time.monotonic() + 60)) as browser:
            yield browser
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)
