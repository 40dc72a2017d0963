"""py-skygear with every decorator, called as the service calls it, on the database of a service without functions."""

import json
import shutil
import subprocess
from pathlib import Path

from envelope import Server
from setting import APPS, FunctionService, expect, free_address

#: The fields of the types that the app reads and writes.
SCHEMA = {
    "memo": {"fields": [
        {"name": "text", "type": "string"}, {"name": "length", "type": "integer"},
        {"name": "number", "type": "integer"},
        {"name": "note", "type": "string"}, {"name": "locked", "type": "boolean"}]},
    "page": {"fields": [{"name": "text", "type": "string"}, {"name": "n", "type": "integer"}]},
}
TYPED = {
    "date": {"$type": "date", "$date": "2026-01-31T09:00:00.123456Z"},
    "place": {"$type": "geo", "$lng": 22.5, "$lat": 114.25},
    "reference": {"$type": "ref", "$id": "memo/1"},
    "asset": {"$type": "asset", "$name": "a.png", "$content_type": "image/png"},
    "unknown": {"$type": "unknown", "$underlying_type": "money"},
    "record": {"$type": "record", "$record": {"_id": "memo/1", "text": "a"}},
    "text": "a", "number": 1, "nothing": None, "list": [1], "object": {"a": 1},
    "other": {"$type": "relation", "$name": "x"},
}
KINDS = {
    "date": "datetime", "place": "Location", "reference": "Reference", "asset": "Asset", "unknown": "UnknownValue",
    "record": "Record", "text": "str", "number": "int", "nothing": "NoneType", "list": "list", "object": "dict",
    "other": "dict",
}


def run(binary: Path):
    with FunctionService(binary, "--embedded-port", free_address().split(":")[1], schema="app_proof") as service:
        service.start()
        service.call("schema:create", {"record_types": SCHEMA}, master=True)
        shutil.copy(APPS / "everything.py", service.functions / "app.py")
        address = free_address()
        environment = {
            "SKYGEAR_ENDPOINT": f"http://127.0.0.1:{service.port}", "API_KEY": service.api_key,
            "MASTER_KEY": service.master_key, "APP_NAME": "proof", "DATABASE_URL": database_url(service),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = ["py-skygear", "--http", "--http-addr", address, "app.py"]
        with Server(command, address, environment, service.functions).await_ready() as server:
            check_registration(server.registration)
            check_functions(server)
            check_calls_back(server, service)
            check_hooks(server)
            check_handlers(server)


def database_url(service: FunctionService) -> str:
    command = [part for part in service._psql if part != "--no-psqlrc"]
    printed = subprocess.run([*command, "--print-url"], capture_output=True, text=True, check=True).stdout.strip()
    return printed.replace("postgres://", "postgresql://", 1)


def check_registration(registration: dict):
    expect("the kinds", sorted(registration), ["event", "handler", "hook", "op", "provider", "timer"])
    ops = {entry["name"]: entry for entry in registration["op"]}
    expect("a function", ops["game:best"], {"name": "game:best", "key_required": True, "user_required": False})
    expect("one of users", ops["who"]["user_required"], True)
    hooks = [(hook["name"], hook["trigger"], hook["type"], hook.get("async", False)) for hook in registration["hook"]]
    expect("the hooks", hooks, [
        ("check", "beforeSave", "memo", False), (".app.noticed", "beforeSave", "memo", True),
        (".app.saved", "afterSave", "memo", False), (".app.kept", "beforeDelete", "memo", False),
        (".app.deleted", "afterDelete", "memo", False)])
    handlers = sorted((each["name"], each["methods"]) for each in registration["handler"])
    assert ("web:object", ["PUT"]) in handlers and ("books/", ["GET"]) in handlers, handlers
    expect("the timers", registration["timer"], [{"spec": "@every 1h", "name": "hourly"}])
    expect("the providers", registration["provider"], [{"type": "auth", "id": "com.example", "name": "com.example"}])
    expect("the events", [event["name"] for event in registration["event"]], ["init", "server-ready", "schema-changed"])


def check_functions(server: Server):
    expect("kinds", server.op("kinds", TYPED)["result"], KINDS)
    for name in ["text", "number", "nothing", "list", "object", "other", "place", "reference", "asset", "unknown"]:
        expect(name, server.op("echo", {"value": TYPED[name]})["result"], TYPED[name])
    for arguments, result in [({"a": 1}, [1, 2]), ({"a": 1, "b": 3}, [1, 3]), ([1], [1, 2]), ([1, 3], [1, 3])]:
        expect("arguments", server.op("positional", arguments)["result"], result)
    expect("no arguments", server.op("echo")["result"], None)
    expect("the caller", server.op("who", context={"user_id": "u1", "request_id": "r1"})["result"], {
        "user": "u1", "has_request": True})
    expect("a refusal", server.op("fails", {"code": 20001})["error"], {
        "code": 20001, "message": "It fails.", "info": {"why": "because"}})
    crash = server.op("crashes")["error"]
    expect("a crash", (crash["code"], crash["message"], "Traceback" in crash["info"]["trace"]), (
        10000, "secret-of-the-code", True))
    expect("a handled exception", server.op("misses")["error"]["code"], 110)
    login = {"action": "login", "auth_data": {"code": "right"}}
    expect("a provider", server.send("provider", "com.example", login)["result"]["principal_id"], "ann")
    server.event("server-ready", {"config": {}})
    server.event("schema-changed", {"memo": {"fields": []}})
    expect("events", server.op("seen")["result"], [["ready"], ["schema", "memo"]])


def check_calls_back(server: Server, service: FunctionService):
    ann = service.sign_up("ann")["user_id"]
    context = {"user_id": ann}
    expect("as master", server.op("save:as-master", {"text": "a"}, context=context)["result"], {
        "saved": ["page/master"], "found": [1]})
    expect("as a user", server.op("save:as-user", {"text": "b"}, context=context)["result"], {
        "owner": ann, "found": ["b"]})
    expect("a refusal", server.op("save:refused")["result"], 103)
    service.save({"_id": "memo/1", "text": "a"}, master=True)
    expect("SQL", server.op("query:sql")["result"], [["1", "a"]])


def check_hooks(server: Server):
    record = {"_id": "memo/1", "_type": "record", "_ownerID": "u1", "_access": None, "text": "a"}

    def hook(name: str, original=None, **fields) -> dict:
        return server.send("hook", name, {"record": record | fields, "original": original})

    expect("a record", hook("check")["result"], {
        "_id": "memo/1", "_ownerID": "u1", "_access": None, "text": "a", "length": 1, "number": 1})
    expect("an update", hook("check", record | {"number": 4})["result"]["number"], 5)
    expect("a refusal", hook("check", text="")["error"], {
        "code": 20010, "message": "A memo needs a text.", "info": {"arguments": ["text"]}})
    expect("access", hook("check", text="shared")["result"]["_access"], [{"level": "read", "user_id": "friend"}])
    expect("a field that is cleared", hook("check", text="cleared", note="x")["result"]["note"], None)
    expect("a delete", hook(".app.kept", locked=True)["error"]["code"], 20011)
    hook(".app.saved")
    expect("what it saw", server.op("seen")["result"][-1], ["saved", "1", 1])


def check_handlers(server: Server):
    expect("a text", server.handler("GET", "web:text", "/web/text", query="name=Ann"), (
        200, {"content-type": ["text/plain; charset=utf-8"]}, b"Hello Ann"))
    status, _, body = server.handler("PUT", "web:object", "/web/object", body=b'{"a":1}')
    expect("JSON", (status, json.loads(body)), (200, {"method": "PUT", "got": {"a": 1}}))
    status, header, body = server.handler("GET", "web:response", "/web/response")
    expect("a response", (status, header["x-one"], header["content-type"], body), (201, ["1"], ["image/png"], b"\0\xff"))
    expect("a subtree", server.handler("GET", "tree/", "/tree/a/b")[2], b"/tree/a/b")
    expect("a collection", json.loads(server.handler("GET", "books", "/books")[2]), [1, 2])
    expect("a member", json.loads(server.handler("GET", "books/", "/books/7")[2]), {"id": "7"})
