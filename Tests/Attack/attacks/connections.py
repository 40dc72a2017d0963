"""Clients that hold connections and bodies."""

import socket
import time

from attack import attack
from client import Client, code, head, open_socket
from service import MEGABYTE, until

HELD = 268_000_000


def hold_bodies(service, source: str, count: int, key: str | None):
    """Opens connections whose bodies of 8 MB are half sent; returns them."""
    sockets = []
    part = b"x" * (HELD // count)
    for _ in range(count):
        try:
            opened = open_socket(service, source, 5)
            opened.sendall(head(service, 8 << 20, key))
            opened.setblocking(False)
            sent = 0
            deadline = time.monotonic() + 1
            while sent < len(part) and time.monotonic() < deadline:
                try:
                    sent += opened.send(part[sent:])
                except BlockingIOError:
                    time.sleep(0.002)
            sockets.append(opened)
        except OSError:
            continue  # The service refused it, which is what it should do.
    return sockets


def others_post(service, findings, what: str):
    """Another client posts a small body and one of 2 MB."""
    client = Client(service, "127.0.0.7")
    try:
        fetched = client.call("record:fetch", ids=["note/seed"])
        findings.expect(client.status == 200 and code(fetched) is None, f"{what}: a small POST has status {client.status}")
    except Exception as error:
        findings.expect(False, f"{what}: a small POST fails: {error}")


@attack("connections-half-sent-no-key")
def half_sent_without_key(service, findings, setting):
    """77 connections of one address send half of 268 MB without a key."""
    sockets = hold_bodies(service, "127.0.2.7", 77, None)
    findings.figure("held MB", round(service.resident / MEGABYTE))
    findings.expect(service.resident < 150 * MEGABYTE, f"{service.resident // MEGABYTE} MB held for a client without a key")
    others_post(service, findings, "beside half-sent bodies without a key")
    for opened in sockets:
        opened.close()


@attack("connections-half-sent-key")
def half_sent_with_key(service, findings, setting):
    """The same with the API key."""
    sockets = hold_bodies(service, "127.0.2.7", 77, service.api_key)
    findings.figure("held MB", round(service.resident / MEGABYTE))
    others_post(service, findings, "beside half-sent bodies with a key")
    for opened in sockets:
        opened.close()


@attack("connections-all")
def all_connections(service, findings, setting):
    """One address opens 11,000 connections."""
    sockets = []
    for _ in range(11_000):
        try:
            sockets.append(open_socket(service, "127.0.2.8", 2))
        except OSError:
            break
    findings.figure("opened", len(sockets))
    others_post(service, findings, "beside all connections of one address")
    for opened in sockets:
        opened.close()


@attack("connections-idle")
def idle(service, findings, setting):
    """600 connections send bodies of 0.5 MB, and then nothing; what they were read into is given back."""
    padding = "x" * 500_000
    clients = [Client(service, f"127.0.2.{20 + number % 6}") for number in range(600)]
    statuses = set()
    before = service.resident
    for client in clients:
        client.call("record:fetch", ids=["note/seed"], padding=padding)
        statuses.add(client.status)
    findings.expect(statuses == {200}, f"the bodies have the statuses {statuses}")
    until(20, "less than 25 MB held for idle connections", lambda: service.resident - before < 25 * MEGABYTE)
    findings.figure("held MB", round((service.resident - before) / MEGABYTE))
    for client in clients:
        client.close()


@attack("connections-slow-body")
def slow_body(service, findings, setting):
    """A client sends a body byte by byte; the service ends it."""
    opened = open_socket(service, "127.0.2.9", 60)
    opened.sendall(head(service, 1_000_000, service.api_key))
    began = time.monotonic()
    ended = False
    while time.monotonic() - began < 45 and not ended:
        try:
            opened.sendall(b" ")
            opened.settimeout(0.5)
            ended = opened.recv(4096) != b"never"
        except TimeoutError:
            continue
        except OSError:
            ended = True
    findings.figure("ended after s", round(time.monotonic() - began, 1))
    findings.expect(ended, "a body that arrives at 2 bytes a second is still taken after 45 s")
    opened.close()


@attack("connections-heads")
def heads(service, findings, setting):
    """Requests with two Host fields, with none, and with an unknown transfer coding."""
    def status(text: str) -> int:
        opened = open_socket(service, "127.0.2.10", 10)
        opened.sendall(text.replace("\n", "\r\n").encode())
        answer = opened.recv(4096).decode(errors="replace")
        opened.close()
        findings.expect("nosniff" in answer.lower() and "no-store" in answer.lower(),
                        f"an answer lacks nosniff or no-store: {answer[:200]!r}")
        return int(answer.split()[1]) if answer else 0
    for text, expected in (
        ("GET /healthz HTTP/1.1\n\n", 400),
        ("GET /healthz HTTP/1.1\nHost: a\nHost: b\n\n", 400),
        ("POST /rpc HTTP/1.1\nHost: a\nTransfer-Encoding: gzip, chunked\n\n", 501),
        ("GET /healthz HTTP/1.1\nHost: a\n\n", 200),
    ):
        found = status(text)
        findings.expect(found == expected, f"{text!r} has status {found}, not {expected}")
