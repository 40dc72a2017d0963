"""Queries that cost the database more than they cost their sender."""

import socket
import json

from attack import Bystander, attack
from client import Client, Load, address, code, in_parallel
from service import until


def patterns(count: int) -> list:
    keypath = {"$type": "keypath", "$val": "text"}
    return ["or", *(["ilike", keypath, f"%a%b{number}%c%d%"] for number in range(count))]


def fill(setting, count: int = 20):
    for number in range(count):
        setting.owner.save({"_id": f"essay/{number}", "text": "abcd " * 190_000})


def running(service) -> int:
    return int(service.psql(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query ILIKE '%essay%' "
        "AND query NOT ILIKE '%pg_stat_activity%'"))


@attack("queries-patterns-refused")
def patterns_refused(service, findings, setting):
    """998 patterns in one predicate, and one pattern of 100 KB."""
    fill(setting)
    client = Client(service)
    for predicate in (patterns(998), ["ilike", {"$type": "keypath", "$val": "text"}, "%a" * 50_000]):
        response = client.call("record:query", record_type="essay", predicate=predicate)
        findings.expect(code(response) == 108, f"not refused with 108: {str(response)[:200]}")


@attack("queries-patterns-allowed")
def patterns_allowed(service, findings, setting):
    """Twelve clients ask for as many patterns over texts of 1 MB as are allowed."""
    fill(setting)
    count = 30
    while count > 1 and code(Client(service).call(
            "record:query", record_type="essay", limit=0, predicate=patterns(count))) == 108:
        count -= 5
    findings.figure("patterns", count)
    clients = [Client(service, address(number), timeout=90) for number in range(12)]
    bystander = Bystander(service)

    def ask(client):
        return code(client.call("record:query", record_type="essay", predicate=patterns(count)))
    with Load(clients, ask):
        for _ in range(6):
            bystander.look(10)
    findings.figure("fetch meanwhile ms", round(max(bystander.times) * 1000, 1))
    findings.expect(max(bystander.times) < 0.5, f"fetches of others took {bystander.times} s at the median")


@attack("queries-clients-gone")
def clients_gone(service, findings, setting):
    """Clients send costly queries and leave; their statements end."""
    fill(setting)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "record:query",
                       "params": {"record_type": "essay", "predicate": patterns(25)}}).encode()
    for number in range(12):
        opened = socket.create_connection(("127.0.0.1", service.port), 10, source_address=(address(number), 0))
        opened.sendall((f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nX-Skygear-API-Key: {service.api_key}\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        opened.close()
    until(15, "the statements of clients that left to end", lambda: running(service) == 0, 0.5)


@attack("queries-one-client")
def one_client(service, findings, setting):
    """One client with 200 connections asks for costly queries without a pause."""
    fill(setting)
    clients = [Client(service, "127.0.2.1", timeout=90) for _ in range(200)]
    bystander = Bystander(service)

    def ask(client):
        return code(client.call("record:query", record_type="essay", predicate=patterns(25)))
    with Load(clients, ask) as load:
        for _ in range(4):
            bystander.look(10)
    codes = {str(each) for each in load.failures}
    findings.figure("refusals", sorted(codes)[:4])
    findings.figure("fetch meanwhile ms", round(max(bystander.times) * 1000, 1))
    findings.expect(max(bystander.times) < 0.5, f"fetches of others took {bystander.times} s at the median")
    for client in clients:
        client.close()


@attack("queries-wrong-keys")
def wrong_keys(service, findings, setting):
    """A client that tries keys is refused before long."""
    client = Client(service, "127.0.2.2")
    calls = [{"jsonrpc": "2.0", "id": number, "method": "record:query", "params": {"record_type": "note"}}
             for number in range(100)]
    body = json.dumps(calls).encode()
    codes = set()
    for number in range(1_500):
        client.key = f"not-the-key-{number}"
        codes.update(map(code, json.loads(client.post("/rpc", body))))
        if 131 in codes:
            break
    findings.figure("calls", (number + 1) * 100)
    findings.expect(131 in codes, f"150,000 calls with wrong keys were answered with {codes} alone")


def path(name: str) -> dict:
    return {"$type": "keypath", "$val": name}


@attack("queries-extreme-values")
def extreme_values(service, findings, setting):
    """Dates and numbers at and beyond their bounds, at each place where a request has some."""
    setting.owner.save({"_id": "limit/1", "at": {"$type": "date", "$date": "2020-01-01T00:00:00Z"}, "n": 1, "x": 1.5,
                        "spot": {"$type": "geo", "$lng": 1, "$lat": 2}, "tags": {"n": 1}})
    years = ["-999999", "-290308", "-004714", "-004713", "-000001", "0000", "9999", "+294276", "+294277", "+999999"]
    dates = [{"$type": "date", "$date": f"{year}-{day}{zone}"} for year in years
             for day in ("01-01T00:00:00", "11-24T00:00:00", "12-31T23:59:59.9999999") for zone in ("Z", "+23:59", "-23:59")]
    numbers = [2**63 - 1, -2**63, 2**63, -2**63 - 1, 2**64, 10**400, 1.7e308, 5e-324, -0.0]
    values = [("at", each) for each in dates] + [(name, each) for name in ("n", "x", "tags.n") for each in numbers]
    allowed = {None, 108, 111, 120}
    for name, value in values:
        requests = [("record:query", {"predicate": [operator, path(name), value]}) for operator in ("eq", "lt", "gte")]
        requests.append(("record:query", {"predicate": ["between", path(name), value, value]}))
        requests.append(("record:query", {"predicate": ["in", path(name), [value, value]]}))
        requests.append(("record:aggregate", {"aggregates": {"a": ["count"]}, "having": ["gt", path("a"), value]}))
        if name == "n":
            requests += [("record:query", {"limit": value}), ("record:query", {"offset": value, "limit": value})]
            requests.append(("record:query", {"predicate": ["near", path("spot"), {"$type": "geo", "$lng": 1, "$lat": 2}, value]}))
        for method, parameters in requests:
            found = code(setting.owner.call(method, record_type="limit", **parameters))
            findings.expect(found in allowed, f"{json.dumps(parameters)[:120]} is answered with {found}")
        changes = [{name: value}, {name: {"$op": "inc", "$val": value}}, {name: {"$op": "max", "$val": value}},
                   {name: {"$op": "mul", "$val": value}}]
        for change in changes if "." not in name else []:
            outcome = setting.owner.call("record:save", records=[{"_id": "limit/1", **change}])
            found = code(outcome) or code(outcome["result"][0])
            findings.expect(found in allowed, f"{json.dumps(change)[:120]} is saved with {found}")
    findings.figure("values", len(values))
    again = setting.owner.result("record:fetch", ids=["limit/1"])[0]
    findings.expect(code(again) is None, f"the record is answered with {code(again)}")


@attack("queries-worst-of-each")
def worst_of_each(service, findings, setting):
    """Clients ask for the costliest predicate of each kind that is allowed, over 20,000 records, without a pause."""
    service.psql(
        "SET search_path = app, app_internal, pg_temp; SELECT _create_type('maze'); "
        "ALTER TABLE maze ADD name text, ADD tags jsonb, ADD next text REFERENCES maze (_id) DEFERRABLE; "
        "INSERT INTO maze (_id, _owner, _created_by, _updated_by, name, tags) "
        f"SELECT 'm' || i, '{setting.owner.user_id}', '{setting.owner.user_id}', '{setting.owner.user_id}', "
        "repeat(md5(i::text), 20), to_jsonb(array_fill(array_fill(i, ARRAY[20])::text, ARRAY[20])) "
        "FROM generate_series(1, 20000) AS i; UPDATE maze SET next = 'm' || 1 + substr(_id, 2)::int % 20000; ANALYZE maze")
    deep = {"record_type": "maze", "key": "next", "limit": 10_000, "sort": [[path("name"), "desc"]]}
    for _ in range(3):
        deep = {"record_type": "maze", "predicate": ["not_in_query", path("next"), deep], "key": "next"}
    predicates = [
        ["regex", path("name"), "^(a|b)*[0-9a-f]{60}x$"],
        ["regex", path("name"), "(?:[a-f]?){40}zz"],
        ["not_in_query", path("next"), deep],
        ["eq", path(".".join(["next"] * 8 + ["name"])), "x"],
        ["any", path("tags"), ["any", path("$"), ["none", ["eq", path("$"), 1]]]],
        ["or", *(["contains", path("tags"), [[number]]] for number in range(200))],
        ["eq", ["func", "fold", path("name")], "X"],
    ]
    calls = [("record:query", {"predicate": each, "sort": [[path("next.next.next.name"), "asc"]], "limit": 0, "count": True})
             for each in predicates]
    groups = {f"k{number}": path(name) for number, name in enumerate(["name", "next", "next.name", "_id", "_revision"])}
    calls.append(("record:aggregate", {"group_by": groups, "aggregates": {"n": ["count_distinct", path("next.next.name")]}}))
    for method, parameters in calls:
        found = code(Client(service, timeout=90).call(method, record_type="maze", **parameters))
        findings.expect(found in (None, 122), f"{json.dumps(parameters)[:90]} is answered with {found}")
    clients = [Client(service, address(number), timeout=90) for number in range(12)]
    bystander = Bystander(service)
    places = iter(range(1_000_000))

    def ask(client):
        method, parameters = calls[next(places) % len(calls)]
        return code(client.call(method, record_type="maze", **parameters))
    with Load(clients, ask):
        for _ in range(6):
            bystander.look(10)
    findings.figure("fetch meanwhile ms", round(max(bystander.times) * 1000, 1))
    findings.expect(max(bystander.times) < 0.5, f"fetches of others took {bystander.times} s at the median")
