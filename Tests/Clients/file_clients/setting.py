"""A service with files, its users, and what all clients of files do."""

import hashlib
import json
import random
import struct
import zlib
from pathlib import Path

import requests

from service import Service

#: How long one step may take, in seconds.
PATIENCE = 60
MEGABYTE = 1 << 20


class Setting:
    """A running service, with a user who uploads."""

    secret = "0123456789-shared-with-other-programs"
    maximum = 220 * MEGABYTE

    def __init__(self, binary: Path):
        self.service = Service(binary)
        secret = self.service.directory / "file-secret"
        secret.write_text(self.secret)
        self.service.arguments += ["--file-secret-file", str(secret), "--maximum-file", str(self.maximum)]
        self.directory = self.service.directory / "clients"

    def start(self):
        self.service.start()
        self.directory.mkdir()
        self.ann = self.sign_up("ann")
        self.bob = self.sign_up("bob")

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.service.port}"

    def sign_up(self, name: str) -> str:
        """Returns the token of a new user."""
        account = {"auth_data": {"username": name}, "password": "correct horse"}
        return self.call("auth:signup", account, headers={"X-Skygear-API-Key": self.service.api_key})["access_token"]

    def call(self, method: str, parameters: dict, token: str | None = None, headers: dict | None = None):
        """The result of an action."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        headers = headers or bearer(token)
        response = requests.post(f"{self.base}/rpc", json=body, headers=headers, timeout=PATIENCE).json()
        assert "error" not in response, response
        return response["result"]

    def upload(self, content: bytes, name: str, kind: str) -> dict:
        """Uploads a file by itself; returns its value, with an address."""
        response = requests.post(f"{self.base}/files", params={"filename": name}, data=content, timeout=PATIENCE,
                                 headers=bearer(self.ann) | {"Content-Type": kind})
        expect("the status of an upload", response.status_code, 201)
        return response.json()["result"]

    def download(self, name: str, token: str) -> requests.Response:
        """A file as a caller reads it, without a signed address."""
        return requests.get(f"{self.base}/files/{name}", headers=bearer(token), timeout=PATIENCE)

    def stored(self) -> int:
        """The number of complete files."""
        return int(self.service.psql("SELECT count(*) FROM app_internal._asset WHERE state = 'stored'"))

    def file(self, name: str, content: bytes) -> Path:
        """A file on the disk of a client."""
        path = self.directory / name
        path.write_bytes(content)
        return path


def bearer(token: str) -> dict:
    return {"Authorization": f"Bearer {token}"}


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that are the same in each run, and no repetition of each other."""
    return random.Random(seed).randbytes(size)


def png(width: int, height: int) -> bytes:
    """A PNG that cannot be compressed."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = noise(width * height * 3)
    rows = b"".join(b"\0" + pixels[row * width * 3:(row + 1) * width * 3] for row in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def expect(what: str, found, expected):
    assert found == expected, f"{what}: {shortened(found)} instead of {shortened(expected)}"


def code(response: requests.Response) -> int:
    """The code of a refusal."""
    return json.loads(response.text)["error"]["code"]


def shortened(value) -> str:
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}… ({len(text)} characters)"
