"""Clients of the service: well-behaved ones, and sockets for all others. Each has an address of its own on loopback."""

import http.client
import json
import socket
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from service import Service


class Client:
    """A client that keeps its connection. `address` is the loopback address that its requests come from."""

    def __init__(self, service: Service, address: str = "127.0.0.2", token: str | None = None, key: str | None = None,
                 timeout: float = 60):
        self.service = service
        self.address = address
        self.token = token
        self.key = service.api_key if key is None else key
        self.timeout = timeout
        self.connection = None
        self.status = 0
        self.received = 0

    def with_token(self, token: str) -> "Client":
        return Client(self.service, self.address, token, self.key, self.timeout)

    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["X-Skygear-API-Key"] = self.key
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def post(self, path: str, body: bytes) -> bytes:
        """Sends a body and returns the answer's; a connection that was lost is opened again once."""
        for attempt in (1, 2):
            fresh = self.connection is None
            if fresh:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.service.port, timeout=self.timeout, source_address=(self.address, 0))
            try:
                self.connection.request("POST", path, body, self.headers())
                response = self.connection.getresponse()
                self.status = response.status
                data = response.read()
                self.received = len(data)
                if response.will_close:
                    self.close()
                return data
            except (ConnectionError, http.client.HTTPException):
                self.close()
                if fresh or attempt == 2:
                    raise

    def call(self, method: str, **parameters) -> dict:
        """One JSON-RPC call; returns its response, with `result` or `error`."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        return json.loads(self.post("/rpc", body.encode()))

    def result(self, method: str, **parameters):
        """The result of a call that has to succeed."""
        response = self.call(method, **parameters)
        if "error" in response:
            raise RuntimeError(f"{method}: {response['error']}")
        return response["result"]

    def save(self, *records: dict, **parameters) -> list[dict]:
        """Saves records that have to be saved."""
        outcomes = self.result("record:save", records=list(records), **parameters)
        for outcome in outcomes:
            if outcome["_type"] == "error":
                raise RuntimeError(f"record:save: {outcome}")
        return outcomes

    def sign_up(self, name: str, password: str = "correct horse battery") -> "Client":
        """A new account, logged in."""
        result = self.result("auth:signup", auth_data={"username": name}, password=password)
        client = self.with_token(result["access_token"])
        client.user_id = result["user_id"]
        return client

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None


def code(response: dict) -> int | None:
    """The error code of a response or an outcome; None when it succeeded."""
    if "error" in response:
        return response["error"]["code"]
    return response.get("code") if response.get("_type") == "error" else None


def address(number: int) -> str:
    """The loopback address of the client of that number."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


def in_parallel(count: int, body) -> list:
    """Runs `body(index)` on as many threads; returns what each returned or the exception that it raised."""
    def run(index):
        try:
            return body(index)
        except Exception as error:
            return error
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


class Load:
    """Clients that repeat a call until they are stopped, each from an address of its own."""

    def __init__(self, clients: list, body):
        self.succeeded = 0
        self.failures: list = []
        self.times: list[float] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(client, body), daemon=True) for client in clients]

    def _run(self, client, body):
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                failure = body(client)
            except Exception as error:
                failure = error
            took = time.monotonic() - began
            with self._lock:
                self.times.append(took)
                if failure is None:
                    self.succeeded += 1
                else:
                    self.failures.append(failure)
            if failure is not None:
                # A refused client that never pauses would only measure this program.
                self._stop.wait(0.02)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(90)

    def rate(self, seconds: float) -> float:
        """Successes a second over the next seconds."""
        before = self.succeeded
        time.sleep(seconds)
        return (self.succeeded - before) / seconds

    @property
    def median(self) -> float:
        with self._lock:
            return statistics.median(self.times) if self.times else float("inf")


def open_socket(service: Service, source: str, timeout: float = 30) -> socket.socket:
    """A bare connection."""
    return socket.create_connection(("127.0.0.1", service.port), timeout, source_address=(source, 0))


def head(service: Service, length: int, key: str | None = None, path: str = "/rpc") -> bytes:
    """The head of a POST, with or without a key."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {length}"]
    if key:
        lines.append(f"X-Skygear-API-Key: {key}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
