"""The service's side of a function server: it starts one, and sends calls to it as the service does."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time

from service import until
from setting import PATIENCE


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Server:
    """A running function server."""

    def __init__(self, command: list[str], address: str, environment: dict | None = None, directory=None):
        self.address = address
        self.secret = None
        self.lines: list[str] = []
        kept = {name: os.environ[name] for name in ["PATH", "HOME", "LANG", "TZ", "TMPDIR"] if name in os.environ}
        self.process = subprocess.Popen(
            command, env=kept | (environment or {}), cwd=directory, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE)

    def await_ready(self) -> "Server":
        def is_ready():
            assert self.process.poll() is None, "\n".join(self.lines)
            try:
                return self.event("init")
            except OSError:
                return False
        self.registration = until(PATIENCE, "the function server", is_ready)
        return self

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def logged(self, text: str) -> dict:
        """The JSON line of the log with this text in its message."""
        def find():
            for line in list(self.lines):
                if line.startswith("{") and text in json.loads(line)["message"]:
                    return json.loads(line)
        return until(PATIENCE, f"the line {text!r}", find)

    # Calls

    def connection(self) -> http.client.HTTPConnection:
        if self.address.startswith("unix:"):
            return UnixConnection(self.address.removeprefix("unix:"))
        host, port = self.address.rsplit(":", 1)
        return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=PATIENCE)

    def post(self, body: bytes, headers: dict | None = None, connection=None) -> tuple[int, dict]:
        own = connection or self.connection()
        try:
            own.request("POST", "/", body, {"Content-Type": "application/json", **(headers or {})})
            response = own.getresponse()
            return response.status, json.loads(response.read())
        finally:
            if connection is None:
                own.close()

    def send(self, kind: str, name: str, param=None, context=None, headers=None, connection=None) -> dict:
        call = {"kind": kind, "name": name}
        # Both are left out when they are empty, as py-skygear needs it.
        if param:
            call["param"] = param
        if context:
            call["context"] = context
        body = json.dumps(call).encode()
        head = {**(headers or {})} | (signed(self.secret, body) if self.secret else {})
        _, answer = self.post(body, head, connection)
        return answer

    def event(self, name: str, param=None):
        return self.send("event", name, param)["result"]

    def op(self, name: str, args=None, **call) -> dict:
        return self.send("op", name, {} if args is None else {"args": args}, **call)

    def hook(self, name: str, *records: dict, **call) -> list:
        """The verdicts on records, in the dialect skyrow/1."""
        sent = [each if "record" in each else {"record": each, "original": None, "changed": []} for each in records]
        return self.send("hook", name, {"records": sent}, **call)["result"]

    def handler(self, method: str, name: str, path: str, body: bytes = b"", query: str = "", header=None) -> tuple:
        """The status, the header and the bytes of a handler's response."""
        answer = self.send("handler", name, {
            "method": method, "path": path, "query_string": query, "header": header or {},
            "body": base64.b64encode(body).decode()})
        result = answer["result"]
        header = {name.lower(): values for name, values in result["header"].items()}
        return result["status"], header, base64.b64decode(result["body"])


def signed(secret: str, body: bytes, at: float | None = None, id: str = "msg_1") -> dict:
    """The headers of Standard Webhooks."""
    stamp = str(int(time.time() if at is None else at))
    key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
    digest = hmac.new(key, f"{id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": "v1," + base64.b64encode(digest).decode()}
