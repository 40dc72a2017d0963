"""Clients that hold WebSockets and event streams, and misuse them."""

import os
import socket
import struct
import time

from attack import attack
from attacks.connections import others_post
from client import open_socket
from service import MEGABYTE

HANDSHAKE = ("GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")


def open_websocket(service, source: str, timeout: float = 10, key: bool = True, token: str | None = None):
    """Opens a WebSocket; raises OSError where the service does not."""
    opened = open_socket(service, source, timeout)
    fields = f"X-Skygear-API-Key: {service.api_key}\r\n" if key else ""
    if token:
        fields += f"Authorization: Bearer {token}\r\n"
    opened.sendall((HANDSHAKE + fields + "\r\n").encode())
    head = b""
    while b"\r\n\r\n" not in head:
        part = opened.recv(1)
        if not part:
            raise OSError("closed during the handshake")
        head += part
    if b" 101 " not in head.split(b"\r\n")[0]:
        raise OSError(head.split(b"\r\n")[0].decode())
    return opened


def frame(opcode: int, payload: bytes = b"", final: bool = True) -> bytes:
    """A frame of a client, masked with zeros."""
    length = len(payload)
    head = bytes([(0x80 if final else 0) | opcode])
    if length < 126:
        head += bytes([0x80 | length])
    elif length < 65_536:
        head += struct.pack("!BH", 0xFE, length)
    else:
        head += struct.pack("!BQ", 0xFF, length)
    return head + bytes(4) + payload


def close_code(opened, within: float) -> int | None:
    """The code of the close frame that comes next; None when the connection ends without one, or goes on."""
    deadline = time.monotonic() + within
    received = b""
    while time.monotonic() < deadline:
        opened.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            part = opened.recv(65_536)
        except OSError:
            return None
        if not part:
            return None
        received += part
        while len(received) >= 2:
            length, start = received[1] & 0x7F, 2
            if length == 126:
                if len(received) < 4:
                    break
                length, start = struct.unpack("!H", received[2:4])[0], 4
            elif length == 127:
                if len(received) < 10:
                    break
                length, start = struct.unpack("!Q", received[2:10])[0], 10
            if len(received) < start + length:
                break
            if received[0] & 0x0F == 8:
                return struct.unpack("!H", received[start:start + 2])[0] if length >= 2 else None
            received = received[start + length:]
    return None


@attack("sockets-thousands", memory=250 * MEGABYTE)
def thousands(service, findings, setting):
    """Twenty addresses open 4,000 WebSockets and say nothing."""
    before = service.resident
    sockets, refused = [], 0
    for number in range(4000):
        try:
            sockets.append(open_websocket(service, f"127.0.3.{number % 20 + 1}", 5))
        except OSError:
            refused += 1
    findings.figure("opened", len(sockets))
    findings.figure("kB each", (service.resident - before) / 1024 / max(1, len(sockets)))
    findings.expect(len(sockets) >= 3900, f"only {len(sockets)} of 4,000 WebSockets could be opened")
    others_post(service, findings, "beside 4,000 WebSockets")
    # One address is at its limit, and learns why.
    extra = open_websocket(service, "127.0.3.1", 5)
    code = close_code(extra, 5)
    findings.expect(code == 4429, f"one WebSocket too many of an address ends with {code}, not 4429")
    for opened in sockets + [extra]:
        opened.close()


@attack("sockets-floods")
def floods(service, findings, setting):
    """WebSockets bring pings, empty fragments, noise and large frames without end."""
    floods = (
        ("pings", frame(9) * 2000, {1008}),
        ("empty fragments", frame(1, b"", False) + frame(0, b"", False) * 200_000, {1008}),
        ("a message beyond the limit", frame(1, b" " * MEGABYTE, False) + frame(0, b" " * MEGABYTE, False) * 10, {1009}),
        ("a frame of 4 GB", struct.pack("!BBQ", 0x81, 0xFF, 4 << 30) + bytes(4), {1009}),
        ("binary", frame(2, b"x"), {1003}),
        ("noise", bytes([0xFF]) + os.urandom(4096), {1002, 1003, 1007, 1009}),
    )
    for what, data, codes in floods:
        opened = open_websocket(service, "127.0.3.30", 20)
        try:
            opened.sendall(data)
        except OSError:
            pass  # It was closed in the middle, which is what it should be.
        code = close_code(opened, 20)
        findings.expect(code in codes or code is None and len(data) > MEGABYTE, f"{what} end with {code}, not {codes}")
        opened.close()
        others_post(service, findings, f"after {what}")


@attack("sockets-half-messages", memory=250 * MEGABYTE)
def half_messages(service, findings, setting):
    """100 WebSockets bring half of a message of 8 MB each."""
    sockets = []
    part = frame(1, b" " * (4 * MEGABYTE), False)
    for _ in range(100):
        try:
            opened = open_websocket(service, "127.0.3.31", 5)
            opened.sendall(part)
            sockets.append(opened)
        except OSError:
            continue  # The service refused it, which is what it should do.
    findings.figure("held MB", round(service.resident / MEGABYTE))
    others_post(service, findings, "beside half-sent messages")
    for opened in sockets:
        opened.close()


@attack("sockets-unread", memory=300 * MEGABYTE)
def unread(service, findings, setting):
    """50 WebSockets call for long responses and read none of them."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
    sockets = []
    for _ in range(50):
        opened = open_websocket(service, "127.0.3.32", 5)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.setblocking(False)
        data = frame(1, call) * 2000
        try:
            while data:
                data = data[opened.send(data):]
        except OSError:
            pass  # It is not read any more.
        sockets.append(opened)
    time.sleep(2)
    findings.figure("held MB", round(service.resident / MEGABYTE))
    others_post(service, findings, "beside unread responses")
    for opened in sockets:
        opened.close()


@attack("sockets-strangers")
def strangers(service, findings, setting):
    """WebSockets without credentials are closed after ten seconds, and have no memory for long messages."""
    opened = open_websocket(service, "127.0.3.33", 20, key=False)
    opened.sendall(frame(1, b" " * 200_000, False))
    code = close_code(opened, 5)
    findings.expect(code == 4401, f"a long message of a stranger ends with {code}, not 4401")
    opened.close()
    opened = open_websocket(service, "127.0.3.33", 20, key=False)
    began = time.monotonic()
    code = close_code(opened, 20)
    findings.figure("closed after s", round(time.monotonic() - began, 1))
    findings.expect(code == 4401, f"a stranger's WebSocket ends with {code}, not 4401")
    opened.close()
