"""Clients whose live queries cost the service more than they cost their sender."""

import json
import struct
import threading
import time

from attack import Bystander, attack
from attacks.sockets import frame, open_websocket
from client import Client, code
from service import MEGABYTE


class LiveClient:
    """A WebSocket with live queries; it reads what comes, and counts what ended."""

    def __init__(self, service, source: str, token: str | None = None):
        self.opened = open_websocket(service, source, 30, token=token)
        self.responses: dict[int, dict] = {}
        self.resets: list[str] = []
        self.calls = 0
        self.received = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.opened.recv(count - len(data))
            if not part:
                raise OSError("closed")
            data += part
        return data

    def _read(self):
        self.opened.settimeout(None)
        try:
            while True:
                first, length = self._exactly(2)
                if length == 126:
                    length = struct.unpack("!H", self._exactly(2))[0]
                elif length == 127:
                    length = struct.unpack("!Q", self._exactly(8))[0]
                payload = self._exactly(length)
                if first & 0x0F != 1:
                    continue
                message = json.loads(payload)
                with self.received:
                    if "id" in message:
                        self.responses[message["id"]] = message
                    elif message.get("method") == "live:reset":
                        self.resets.append(message["params"]["reason"])
                    self.received.notify_all()
        except (OSError, ValueError):
            with self.received:
                self.received.notify_all()

    def call(self, method: str, within: float = 30, **parameters) -> dict:
        with self.received:
            self.calls += 1
            number = self.calls
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode()
        self.opened.sendall(frame(1, body))
        with self.received:
            self.received.wait_for(lambda: number in self.responses, within)
            return self.responses.get(number, {"error": {"code": None, "message": "no response"}})

    def close(self):
        self.opened.close()


def field(name: str) -> dict:
    return {"$type": "keypath", "$val": name}


def look_while_saving(service, findings, what: str, save):
    """Others fetch while a client saves what its live queries are about."""
    bystander = Bystander(service)
    saving = threading.Thread(target=save, daemon=True)
    saving.start()
    ends = time.monotonic() + 6
    while time.monotonic() < ends or saving.is_alive():
        bystander.look(5)
        if time.monotonic() > ends + 60:
            break
    slowest = max(bystander.times)
    findings.figure(f"{what}: fetch ms", round(slowest * 1000, 1))
    findings.expect(slowest < 0.5, f"{what}: fetches of others took {slowest:.2f} s at the median meanwhile")


@attack("live-costly-predicates")
def costly_predicates(service, findings, setting):
    """Live queries whose predicates take minutes for one save: a regular expression, a pattern, and comparisons by the thousand."""
    writer = Client(service, "127.0.4.1", timeout=90).sign_up("live-writer")
    writer.save({"_id": "essay/live", "text": "abc", "meta": {"a": {"b": 1}}})
    costly = (
        ("regular expression", 1, ["regex", field("text"), "([0-9a-f]{1,20}){20}z"],
         [{"_id": "essay/live", "text": "0123456789abcdef" * 56_000}]),
        ("pattern", 1, ["like", field("text"), "%" + "a" * 1000 + "b%"],
         [{"_id": "essay/live", "text": "a" * 900_000}]),
        ("comparisons", 50, None,
         [{"_id": f"essay/live{number}", "meta": {"a": {"b": -1}}} for number in range(400)]),
    )
    for what, count, predicate, records in costly:
        attacker = LiveClient(service, "127.0.4.2")
        for number in range(count):
            asked = predicate or ["or", *(["eq", field("meta.a.b"), 1000 * number + other] for other in range(998))]
            response = attacker.call("live:subscribe", subscription=f"n{number}", record_type="essay", predicate=asked)
            findings.expect("error" not in response, f"{what}: {str(response)[:200]}")
        look_while_saving(service, findings, what, lambda: writer.save(*records))
        with attacker.received:
            attacker.received.wait_for(lambda: attacker.resets, 20)
        findings.figure(f"{what}: resets", len(attacker.resets))
        findings.expect(set(attacker.resets) == {"gap"}, f"{what}: live queries ended with {attacker.resets[:3]}, not gap")
        attacker.close()


@attack("live-forms")
def forms(service, findings, setting):
    """A thousand live queries of one client ask for different fields of a record that is almost as long as one may be."""
    names = [f"f{number}" for number in range(10)]
    writer = Client(service, "127.0.4.5", timeout=90).sign_up("form-writer")
    writer.save({"_id": "form/1", "text": "short", **{name: 1 for name in names}})
    clients = []
    for connection in range(10):
        token = Client(service, "127.0.4.6").sign_up(f"form-reader-{connection}").token
        client = LiveClient(service, "127.0.4.6", token)
        clients.append(client)
        for number in range(100):
            chosen = [name for place, name in enumerate(names) if (100 * connection + number) >> place & 1]
            response = client.call(
                "live:subscribe", subscription=f"n{number}", record_type="form", desired_keys=["text", *chosen],
                predicate=["eq", field("f0"), 1])
            findings.expect("error" not in response, f"a live query is refused: {str(response)[:200]}")
    look_while_saving(service, findings, "forms", lambda: writer.save({"_id": "form/1", "text": "x" * 900_000}))
    ended = [reason for client in clients for reason in client.resets]
    findings.figure("ended", len(ended))
    findings.expect(set(ended) <= {"bulk", "gap"} and len(ended) > 500, f"ended: {len(ended)}, {set(ended)}")
    for client in clients:
        client.close()


@attack("live-memory", memory=450 * MEGABYTE)
def memory(service, findings, setting):
    """Three accounts of one client hold live queries with lists of 10,000 values, each found by another term."""
    Client(service, "127.0.4.3").sign_up("live-holder").save({"_id": "essay/list", "title": "q1", "n": 1})
    codes, clients = [], []
    for account in range(3):
        token = Client(service, "127.0.4.3").sign_up(f"live-holder-{account}").token
        for connection in range(4):
            client = LiveClient(service, "127.0.4.3", token)
            clients.append(client)
            for number in range(90):
                asked = ["and", ["eq", field("title"), f"q{account} {connection} {number}"],
                         ["nin", field("n"), list(range(10_000))]]
                codes.append(code(client.call(
                    "live:subscribe", subscription=f"n{number}", record_type="essay", predicate=asked)))
                if len(codes) > 40 and codes[-20:] == [135] * 20:
                    break
    findings.figure("taken", codes.count(None))
    findings.figure("refused", codes.count(135))
    findings.expect(set(codes) == {None, 135}, f"the responses have the codes {set(codes)}")
    findings.expect(codes.count(135) > 0, "none was refused")
    other = LiveClient(service, "127.0.4.4")
    response = other.call("live:subscribe", subscription="n", record_type="essay", predicate=["eq", field("title"), "a"])
    findings.expect("error" not in response, f"another client is refused: {str(response)[:200]}")
    for client in [*clients, other]:
        client.close()


@attack("live-places")
def places(service, findings, setting):
    """One client without an account takes places for queries without a term, and ten accounts those that are asked again."""
    setting.owner.save({"_id": "place/1", "n": 1, "other": "place/1"})
    clients = []

    def take(method, source, count, accounts, **parameters):
        codes = []
        for account in range(accounts):
            token = Client(service, source).sign_up(f"{method}-{account}".replace(":", "-")).token if accounts > 1 else None
            client = LiveClient(service, source, token)
            clients.append(client)
            for number in range(count):
                if number % 100 == 99:
                    client = LiveClient(service, source, token)
                    clients.append(client)
                codes.append(code(client.call(
                    method, subscription=f"n{number}", record_type="place",
                    predicate=["neq", field("n"), 1000 * account + number], **parameters)))
                if codes[-5:] == [135] * 5:
                    break
        return codes
    scans = take("live:subscribe", "127.0.4.5", 400, 1)
    findings.figure("unindexed", scans.count(None))
    findings.expect(scans.count(None) == 250, f"{scans.count(None)} queries without a term were taken, not 250")
    watches = take("live:watch", "127.0.4.5", 10, 30)
    findings.figure("asked again", watches.count(None))
    findings.expect(watches.count(None) <= 250, f"{watches.count(None)} queries that are asked again were taken")
    for source in ("127.0.4.6", "127.0.4.7"):
        other = LiveClient(service, source)
        clients.append(other)
        for method in ("live:subscribe", "live:watch"):
            response = other.call(method, subscription=method, record_type="place", predicate=["neq", field("n"), -1])
            findings.expect("error" not in response, f"{method} of another client is refused: {str(response)[:200]}")
    for client in clients:
        client.close()
