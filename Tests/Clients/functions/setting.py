"""A service with function servers, and what all programs here do with it."""

import http.client
import http.server
import json
import socket
import sys
import threading
from pathlib import Path

from service import Service, until

#: How long one step may take, in seconds.
PATIENCE = 60
REPOSITORY = Path(__file__).resolve().parents[3]
NODE_SERVER = REPOSITORY / "Examples/functions/skyrow-functions.mjs"
APPS = Path(__file__).resolve().parent / "apps"


class Refusal(Exception):
    """An error of the service."""

    def __init__(self, error: dict):
        super().__init__(f"{error['code']} {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        # JSON-RPC has `info` in `data`.
        self.info = error.get("info", (error.get("data") or {}).get("info"))
        self.text = json.dumps(error)


class FunctionService(Service):
    """A service with a directory of functions, whose files a test writes."""

    def __init__(self, binary: Path, *arguments: str, schema: str = "app", development: bool = True):
        super().__init__(binary, "--schema", schema, "--rate-limit-client", "off", *arguments, development=development)
        self.schema = schema
        self.functions = self.directory / "functions"
        self.functions.mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    @property
    def _psql(self) -> list[str]:
        return [*super()._psql, "--schema", self.schema]

    def write(self, name: str, text: str):
        """Writes a file of the functions as editors do: another one takes its place."""
        path = self.functions / name
        draft = self.functions / f".{name}.draft"
        draft.write_text(text)
        draft.rename(path)

    def configure(self, **servers: dict):
        self.write("functions.json", json.dumps({"servers": servers}))

    def start(self) -> "FunctionService":
        if any(self.functions.iterdir()) and "--functions" not in self.arguments:
            self.arguments += ["--functions", str(self.functions)]
        super().start()
        return self

    def restart(self):
        self.stop()
        return self.start()

    def states(self) -> dict:
        """The states of the function servers by name."""
        return {server["name"]: server["state"] for server in self.call("function:list", master=True)["servers"]}

    def await_ready(self, *names: str):
        """Waits until these servers, or all of them, are ready."""
        def are_ready():
            states = self.states()
            return all(state == "ready" for name, state in states.items() if not names or name in names)
        until(PATIENCE, "the function servers", are_ready)
        return self

    # Calls

    def post(self, path: str, body: dict, headers: dict | None = None) -> tuple[int, dict]:
        head = {"Content-Type": "application/json", **(headers or {})}
        status, _, content = self.request("POST", path, json.dumps(body), head)
        return status, json.loads(content)

    def request(self, method: str, path: str, body: str | bytes | None = None, headers: dict | None = None):
        """The status, the header fields and the bytes of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def headers(self, token: str | None, master: bool) -> dict:
        key = self.master_key if master else self.api_key
        return {"X-Skygear-API-Key": key} | ({"Authorization": f"Bearer {token}"} if token else {})

    def call(self, method: str, params: dict | None = None, token: str | None = None, master: bool = False):
        """The result of an action; raises Refusal."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        _, answer = self.post("/rpc", body, self.headers(token, master))
        if "error" in answer:
            raise Refusal(answer["error"])
        return answer["result"]

    def function(self, name: str, args=None, token: str | None = None, master: bool = False):
        """The result of a function."""
        params = {"name": name} | ({} if args is None else {"args": args})
        return self.call("function:call", params, token, master)

    def save(self, *records: dict, token: str | None = None, master: bool = False, **parameters) -> list[dict]:
        """The outcomes of a save."""
        return self.call("record:save", {"records": list(records), **parameters}, token, master)

    def sign_up(self, name: str) -> dict:
        return self.call("auth:signup", {"auth_data": {"username": name}, "password": "correct horse"})


def refusal(body) -> Refusal:
    """The error that a call raises."""
    try:
        result = body()
    except Refusal as refusal:
        return refusal
    raise AssertionError(f"no refusal: {shortened(result)}")


def expect(what: str, found, expected):
    assert found == expected, f"{what}: {shortened(found)} instead of {shortened(expected)}"


def shortened(value) -> str:
    text = repr(value)
    return text if len(text) < 500 else f"{text[:500]}… ({len(text)} characters)"


def free_address() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


class Stub(http.server.ThreadingHTTPServer):
    """Another service on the loopback interface: `answer(path, head, body)` returns a status and JSON."""

    daemon_threads = True

    def __init__(self, answer):
        stub = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def respond(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                stub.requests.append((self.path, dict(self.headers), body))
                status, value = answer(self.path, self.headers, body)
                content = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = respond

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def python_server(name: str) -> list[str]:
    """The command of a server in Python's own library, for functions.json."""
    return [sys.executable, str(APPS / name), "{address}"]
