"""Answers that would be larger than a machine."""

import json
import socket
import ssl
import subprocess
import time

from attack import attack
from client import Client, code, in_parallel
from service import MEGABYTE, Sampler, Service, until

# While one client attacks, and while several together use up `maximum-answer-memory` (128 MB).
LIMIT = 150 * MEGABYTE
SHARED_LIMIT = 180 * MEGABYTE


def large_record(setting, name: str, length: int) -> str:
    identifier = f"page/{name}"
    setting.owner.save({"_id": identifier, "text": "x" * length})
    return identifier


@attack("answers-repeated-id", memory=SHARED_LIMIT)
def repeated_id(service, findings, setting):
    """One readable record of 1 MB, 4,300 times in one fetch, by eight clients at once."""
    identifier = large_record(setting, "large", 1_000_000)

    def fetch(index):
        client = Client(service, f"127.0.2.{index + 1}")
        return code(client.call("record:fetch", ids=[identifier] * 4300))
    codes = in_parallel(8, fetch)
    findings.figure("codes", sorted(set(map(str, codes))))
    findings.expect(all(each in (132, 135, 131) for each in codes), f"not refused with 132: {codes}")


@attack("answers-many-ids", memory=LIMIT)
def many_ids(service, findings, setting):
    """1,500 ids of 100 records of 1 MB in one fetch."""
    identifiers = [large_record(setting, f"many{number}", 1_000_000) for number in range(100)]
    client = Client(service)
    for ids in (identifiers * 15, identifiers):
        response = client.call("record:fetch", ids=ids)
        findings.expect(code(response) == 132, f"{len(ids)} ids were not refused with 132: {str(response)[:200]}")
    findings.expect(code(client.call("record:fetch", ids=identifiers[:20])) is None, "20 MB were refused")


@attack("answers-includes", memory=SHARED_LIMIT)
def includes(service, findings, setting):
    """32 inclusions of one record of 0.1 MB over 100 rows, by one client and then by four at once."""
    target = large_record(setting, "target", 100_000)
    setting.owner.save(*({"_id": f"pointer/{number}", "page": {"$type": "ref", "$id": target}} for number in range(100)))
    query = {"record_type": "pointer", "limit": 100,
             "include": {f"page{number}": {"$type": "keypath", "$val": "page"} for number in range(32)}}

    def ask(index):
        client = Client(service, f"127.0.2.{index + 1}")
        response = client.call("record:query", **query)
        return code(response), client.received
    with Sampler(service) as sampler:
        answers = [ask(0)]
    findings.figure("peak MB of one", round(sampler.peak / MEGABYTE))
    findings.expect(sampler.peak < LIMIT, f"resident memory rose to {sampler.peak // MEGABYTE} MB, above 150 MB")
    answers += in_parallel(4, ask)
    findings.figure("codes", sorted({str(each) for each in answers}))
    findings.expect(all(isinstance(each, tuple) and (each[0] in (132, 135, 131) or each[1] <= 34 * MEGABYTE)
                        for each in answers), f"an answer was larger than its bound: {answers}")


@attack("answers-batch", memory=LIMIT)
def batch(service, findings, setting):
    """A batch of 100 calls, each of which answers 10 MB."""
    identifier = large_record(setting, "large", 1_000_000)
    call = {"jsonrpc": "2.0", "method": "record:fetch", "params": {"ids": [identifier] * 10}}
    client = Client(service)
    body = client.post("/rpc", json.dumps([{**call, "id": number} for number in range(100)]).encode())
    findings.figure("answer MB", round(len(body) / MEGABYTE, 1))
    findings.expect(len(body) <= 34 * MEGABYTE, f"the batch was answered with {len(body)} bytes")
    findings.expect(b"132" in body, "no call of the batch was refused with 132")


@attack("answers-unread", memory=None)
def unread(service, findings, setting):
    """Clients that ask for 20 MB each over HTTP/1.1 and read nothing."""
    identifier = large_record(setting, "large", 1_000_000)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "record:fetch",
                       "params": {"ids": [identifier] * 20}}).encode()
    sockets = []
    for number in range(40):
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.bind((f"127.0.2.{number % 4 + 1}", 0))
        opened.connect(("127.0.0.1", service.port))
        request = (f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nX-Skygear-API-Key: {service.api_key}\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n").encode()
        opened.sendall(request + body)
        sockets.append(opened)
    time.sleep(6)
    findings.figure("holds MB", round(service.resident / MEGABYTE))
    findings.expect(service.resident < 400 * MEGABYTE, f"{service.resident // MEGABYTE} MB wait for clients that read nothing")
    for opened in sockets:
        opened.close()


@attack("answers-http2-window", is_alone=True)
def http2_window(service, findings, setting):
    """100 streams of one HTTP/2 connection ask for 20 MB each and open no window."""
    import h2.config
    import h2.connection
    import h2.settings

    certificate, key = service.directory / "certificate.pem", service.directory / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", str(key), "-out", str(certificate), "-days", "1", "-subj", "/CN=localhost"],
                   check=True, capture_output=True)
    secure = Service(service.binary, "--tls-certificate", str(certificate), "--tls-key", str(key)).start()
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        context.check_hostname = False
        context.set_alpn_protocols(["h2"])

        def connect():
            opened = context.wrap_socket(socket.create_connection(("127.0.0.1", secure.port), 30))
            opened.settimeout(5)
            connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
            return opened, connection

        secure.psql("SELECT 1")
        opened, connection = connect()
        connection.initiate_connection()
        save = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "record:save", "params": {
            "records": [{"_id": "page/large", "text": "x" * 1_000_000}]}}).encode()
        send(opened, connection, secure, save, secure.master_key)
        await_end(opened, connection)

        opened, connection = connect()
        connection.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
        connection.initiate_connection()
        fetch = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "record:fetch",
                            "params": {"ids": ["page/large"] * 20}}).encode()
        with Sampler(secure) as sampler:
            try:
                for _ in range(100):
                    send(opened, connection, secure, fetch, secure.api_key)
            except (OSError, ssl.SSLError, h2.exceptions.ProtocolError):
                pass  # The service may end the connection.
            deadline = time.monotonic() + 8
            while time.monotonic() < deadline:
                try:
                    data = opened.recv(65536)
                    if not data:
                        break
                    connection.receive_data(data)
                except (TimeoutError, OSError, ssl.SSLError, h2.exceptions.ProtocolError):
                    continue
        findings.figure("peak MB of it", round(sampler.peak / MEGABYTE))
        findings.expect(sampler.peak < LIMIT, f"resident memory rose to {sampler.peak // MEGABYTE} MB, above 150 MB")
        findings.expect(secure.is_running, "the service ended")
        opened.close()
        until(30, "resident memory below 100 MB", lambda: secure.resident < 100 * MEGABYTE)
    finally:
        secure.remove()


def send(opened, connection, service, body: bytes, key: str):
    stream = connection.get_next_available_stream_id()
    connection.send_headers(stream, [
        (":method", "POST"), (":path", "/rpc"), (":scheme", "https"), (":authority", "localhost"),
        ("x-skygear-api-key", key), ("content-type", "application/json"), ("content-length", str(len(body)))])
    while body:
        room = min(connection.local_flow_control_window(stream), connection.max_outbound_frame_size, len(body))
        if room == 0:
            opened.sendall(connection.data_to_send())
            connection.receive_data(opened.recv(65536))
            continue
        connection.send_data(stream, body[:room], end_stream=room == len(body))
        body = body[room:]
    opened.sendall(connection.data_to_send())


def await_end(opened, connection):
    import h2.events
    while True:
        for event in connection.receive_data(opened.recv(65536)):
            if isinstance(event, h2.events.DataReceived):
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if isinstance(event, h2.events.StreamEnded):
                return
        opened.sendall(connection.data_to_send())
