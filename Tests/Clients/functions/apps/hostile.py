"""A function server that misbehaves: each of its functions is a fault. It is Python's own library alone.

usage: hostile.py HOST:PORT
"""

import json
import os
import socket
import sys
import threading
import time

MEGABYTE = 1 << 20


def framed(body: bytes, status: str = "200 OK", *fields: str, length: int | None = None) -> bytes:
    length = len(body) if length is None else length
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {length}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def result(value) -> bytes:
    return json.dumps({"result": value}).encode()


def endless(connection: socket.socket):
    """A body whose end never comes, as fast as it is read."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n" % MEGABYTE + b" " * MEGABYTE + b"\r\n"
    while True:
        connection.sendall(chunk)


def long(connection: socket.socket):
    """A body of 1 GB with its length."""
    connection.sendall(framed(b'{"result":"', length=1 << 30))
    while True:
        connection.sendall(b"x" * MEGABYTE)


def drip(connection: socket.socket):
    """A response byte by byte, which would take an hour."""
    for byte in framed(result("x" * 36_000)):
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def hang(connection: socket.socket):
    """No response."""
    connection.recv(1)


def shout(connection: socket.socket):
    """200,000 lines, and one of 10 MB."""
    for number in range(200):
        sys.stdout.write("".join(f"shouted {number} {part}\n" for part in range(1000)))
    sys.stdout.write("shouted " + "x" * 10 * MEGABYTE + "\n")
    sys.stdout.flush()
    connection.sendall(framed(result("done")))


def grow(connection: socket.socket):
    """300 MB, which it keeps."""
    kept.append(bytearray(os.urandom(MEGABYTE) * 300))
    connection.sendall(framed(result(os.getpid())))


kept = []

#: What is sent as the response; an ellipsis closes the connection after it.
RESPONSES = {
    "ok": [framed(result("ok"))],
    "status": [framed(result("kept"), "500 Internal Server Error")],
    "refused": [framed(b'{"error":{"code":20001,"message":"No.","info":{"a":[1,{"b":null}]}}}')],
    "http-1.0": [b"HTTP/1.0 200 OK\r\n\r\n" + result("old"), ...],
    "slow-head": [b"HTTP/1.1 200 OK\r\n", b"Content-Length: 15\r\n\r\n", b'{"result":"ok"}'],
    "continue": [b"HTTP/1.1 100 Continue\r\n\r\n", framed(result("ok"))],
    "garbage": [framed(b"garbage")],
    "no-http": [b"\0\1\2garbage\r\n\r\n", ...],
    "empty": [framed(b"")],
    "page": [framed(b"<html>Not found</html>", "404 Not Found")],
    "number": [framed(b"5")],
    "list": [framed(b"[]")],
    "neither": [framed(b"{}")],
    "error-text": [framed(b'{"error":"text"}')],
    "error-code": [framed(b'{"error":{"code":"x","message":5}}')],
    "error-zero": [framed(b'{"error":{"code":0,"message":""}}')],
    "deep": [framed(b'{"result":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}")],
    "no-utf8": [framed(b'{"result":"\xff\xfe"}')],
    "trailing": [framed(result("a") + b"x")],
    "number-too-large": [framed(b'{"result":' + b"9" * 100_000 + b"}")],
    "redirect": [framed(b"", "302 Found", "Location: http://127.0.0.1:1/")],
    "half": [framed(b'{"result":', length=100), ...],
    "head": [b"HTTP/1.1 200 OK\r\n" + b"X-Field: " + b"x" * 4 * MEGABYTE + b"\r\n\r\n", ...],
    "closed": [...],
    "twice": [framed(result("first")) + framed(result("smuggled"))],
    "endless": endless, "long": long, "drip": drip, "hang": hang, "shout": shout, "grow": grow,
    "pid": [framed(result(os.getpid()))],
    "die": lambda _: os._exit(9),
}


def respond(call: dict, connection: socket.socket) -> bool:
    """Answers a call; returns whether the connection stays."""
    if call["kind"] == "event":
        names = [{"name": name} for name in RESPONSES]
        hook = {"name": "guard", "type": "guarded", "trigger": "beforeSave", "batch": 100}
        init = {"protocol": "skyrow/1", "op": names, "hook": [hook]}
        connection.sendall(framed(result(init)))
        return True
    response = RESPONSES["ok"]
    if call["kind"] == "op":
        response = RESPONSES[call["name"]]
    else:
        records = [entry["record"] for entry in call["param"]["records"]]
        name = records[0].get("fault", "verdicts")
        response = RESPONSES.get(name) or [framed(result(VERDICTS.get(name, [{}] * len(records))))]
    if callable(response):
        response(connection)
        return True
    for part in response:
        if part is ...:
            return False
        connection.sendall(part)
    return True


#: What a hook answers of one record.
VERDICTS = {
    "none": [], "two": [{}, {}], "object": {}, "text": ["yes"], "unknown": [{"allow": True}],
    "reserved": [{"set": {"_id": "guarded/2"}}], "set-list": [{"set": []}], "access-text": [{"access": "all"}],
    "typed": [{"set": {"note": {"$type": "date", "$date": "soon"}}}],
}


def serve(connection: socket.socket):
    with connection, connection.makefile("rb") as reader:
        try:
            while head := reader.readline():
                length = 0
                while (line := reader.readline()).strip():
                    name, value = line.decode().split(":", 1)
                    if name.lower() == "content-length":
                        length = int(value)
                assert head.startswith(b"POST"), head
                if not respond(json.loads(reader.read(length)), connection):
                    return
        except OSError:
            pass


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    with socket.create_server((host, int(port)), backlog=128) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
