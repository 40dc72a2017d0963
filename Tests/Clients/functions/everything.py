"""py-skygear 1.7.1 unchanged: an app with every decorator, through the service (F-1)."""

import json
import shutil
from pathlib import Path

from by_hand_skygear import KINDS, SCHEMA, TYPED
from service import until
from setting import APPS, PATIENCE, FunctionService, expect, refusal


def run(binary: Path):
    # SQL of py-skygear is in the schema app_<name>.
    with FunctionService(binary, schema="app_proof") as service:
        shutil.copy(APPS / "everything.py", service.functions / "app.py")
        service.start()
        service.call("schema:create", {"record_types": SCHEMA}, master=True)
        service.await_ready()
        ann = service.sign_up("ann")
        check_functions(service, ann)
        check_callers(service, ann)
        check_calls_back(service, ann)
        check_hooks(service)
        check_handlers(service, ann)
        check_provider(service)
        check_events(service)


def check_functions(service: FunctionService, ann: dict):
    typed = {name: value for name, value in TYPED.items() if name != "asset"}
    kinds = {name: kind for name, kind in KINDS.items() if name != "asset"}
    expect("kinds", service.function("kinds", typed), kinds)
    for name in ["text", "number", "nothing", "list", "object", "place", "reference", "unknown"]:
        expect(name, service.function("echo", {"value": typed[name]}), typed[name])

    # A file gets its address in both directions.
    status, _, body = service.request("POST", "/files?filename=a.png", b"\x89PNG\r\n\x1a\n", {
        "Content-Type": "image/png", "Authorization": f"Bearer {ann['access_token']}"})
    expect("the status of an upload", status, 201)
    asset = {name: json.loads(body)["result"][name] for name in ["$type", "$name"]}
    back = service.function("echo", {"value": asset}, ann["access_token"])
    expect("a file", back["$name"], asset["$name"])
    assert back["$url"].startswith("http"), back

    values = service.function("values")
    date = values.pop("date")
    expect("a date", (date["$type"], date["$date"][:26]), ("date", "2026-01-31T09:00:00.123456"))
    expect("values", values, {
        "place": {"$type": "geo", "$lng": 22.5, "$lat": 114.25}, "reference": {"$type": "ref", "$id": "memo/1"},
        "list": [1, 2.5, None, True, "text"], "object": {"a": {"b": []}}})

    for arguments, result in [({"a": 1}, [1, 2]), ({"a": 1, "b": 3}, [1, 3]), ([1], [1, 2]), ([1, 3], [1, 3])]:
        expect("arguments", service.function("positional", arguments), result)
        v1 = {"action": "positional", "api_key": service.api_key, "args": arguments}
        expect("the same in the v1 envelope", service.post("/", v1), (200, {"result": result}))
        expect("the same by its path", service.post("/positional", v1), (200, {"result": result}))
    expect("the method", service.call("positional", {"a": 1, "b": 3}), [1, 3])
    expect("no arguments", service.function("echo"), None)
    expect("arguments that are null", service.post("/echo", {"args": None}), (200, {"result": None}))
    expect("a name with a colon", service.post("/game/best", {"api_key": service.api_key}), (200, {"result": "best"}))

    rows = [(102, "PermissionDenied", 403), (110, "ResourceNotFound", 404), (20001, "ErrorCode(20001)", 500)]
    for code, name, status in rows:
        error = refusal(lambda: service.function("fails", {"code": code}))
        expect("a refusal", (error.code, error.message, error.info), (code, "It fails.", {"why": "because"}))
        found, body = service.post("/fails", {"args": {"code": code}})
        expect("a refusal in v1", (found, body["error"]["name"], body["error"]["code"]), (status, name, code))
    expect("a handled exception", refusal(lambda: service.function("misses")).code, 110)
    crash = refusal(lambda: service.function("crashes"))
    expect("a crash", crash.code, 10000)
    assert "Traceback" not in crash.text, crash.text
    expect("an unknown function", refusal(lambda: service.function("unknown")).code, 110)


def check_callers(service: FunctionService, ann: dict):
    """Who may call what, and who the caller is."""
    token = ann["access_token"]
    expect("the user", service.function("who", token=token), {"user": ann["user_id"], "has_request": True})
    expect("no user", refusal(lambda: service.function("who")).code, 101)
    as_ann = {"api_key": service.master_key, "_user_id": ann["user_id"]}
    expect("the master key", service.post("/who", as_ann)[1]["result"]["user"], ann["user_id"])
    expect("no key", service.post("/game/best", {})[0], 401)
    expect("a key", service.post("/game/best", {"api_key": service.api_key}), (200, {"result": "best"}))
    expect("a token alone", service.post("/game/best", {"access_token": token}), (200, {"result": "best"}))
    expect("nothing needed", service.post("/echo", {"args": {"value": 1}}), (200, {"result": 1}))


def check_calls_back(service: FunctionService, ann: dict):
    token = ann["access_token"]
    expect("as master", service.function("save:as-master", {"text": "a"}, token), {
        "saved": ["page/master"], "found": [1]})
    expect("as a user", service.function("save:as-user", {"text": "b"}, token), {
        "owner": ann["user_id"], "found": ["b"]})
    expect("a refusal", service.function("save:refused"), 103)


def check_hooks(service: FunctionService):
    def seen(entry):
        until(PATIENCE, f"{entry} of the app", lambda: entry in service.function("seen"))

    [saved] = service.save({"_id": "memo/1", "text": "abc"}, master=True)
    expect("a new record", (saved["text"], saved["length"], saved["number"]), ("abc", 3, 1))
    seen(["saved", "1", 1])
    seen(["noticed", "1"])
    [saved] = service.save({"_id": "memo/1", "note": "x"}, master=True)
    expect("a partial update", (saved["text"], saved["length"], saved["number"], saved["note"]), ("abc", 3, 2, "x"))
    [saved] = service.save({"_id": "memo/1", "text": "cleared"}, master=True)
    expect("a field that the hook clears", saved.get("note"), None)
    [saved] = service.save({"_id": "memo/1", "text": "shared"}, master=True)
    expect("access by the hook", saved["_access"], [{"user_id": "friend", "level": "read"}])
    expect("SQL in a function", service.function("query:sql"), [["1", "shared"]])
    expect("the row", service.psql("SELECT length, number FROM memo WHERE _id = '1'"), "6|4")

    texts = {2: "a", 3: "", 4: "b"}
    outcomes = service.save(*({"_id": f"memo/{n}", "text": text} for n, text in texts.items()), master=True)
    expect("one of three", [each.get("code") for each in outcomes], [None, 20010, None])
    error = outcomes[1]
    expect("its error", (error["message"], error["info"]), ("A memo needs a text.", {"arguments": ["text"]}))
    atomic = refusal(lambda: service.save({"_id": "memo/5", "text": "a"}, {"_id": "memo/6"}, master=True, atomic=True))
    expect("all or nothing", atomic.code, 115)
    expect("what is stored", service.psql("SELECT string_agg(_id, ' ' ORDER BY _id) FROM memo"), "1 2 4")

    # The row is written before the hook says so.
    [late] = service.save({"_id": "memo/7", "text": "breaks after"}, master=True)
    expect("a save whose after-hook fails", late["_type"], "record")

    service.save({"_id": "memo/2", "locked": True}, master=True)
    outcomes = service.call("record:delete", {"ids": ["memo/2", "memo/4"]}, master=True)
    expect("one of two", [each.get("code") for each in outcomes], [20011, None])
    seen(["deleted", "4", 0])


def check_handlers(service: FunctionService, ann: dict):
    status, head, body = service.request("GET", "/web/text?name=Ann")
    expect("a text", (status, head["Content-Type"], body), (200, "text/plain; charset=utf-8", b"Hello Ann"))
    token = {"X-Skygear-API-Key": service.api_key, "X-Skygear-Access-Token": ann["access_token"]}
    status, head, body = service.request("PUT", "/web/object", b'{"a":1}', token)
    expect("JSON", (status, json.loads(body)), (200, {"method": "PUT", "got": {"a": 1}}))
    expect("without a user", service.request("PUT", "/web/object", b"{}")[0], 401)
    expect("another method", service.request("GET", "/web/object", None, token)[0], 405)
    status, head, body = service.request("GET", f"/web/response?api_key={service.api_key}")
    expect("a response", (status, head["X-One"], head["Content-Type"], body), (201, "1", "image/png", b"\0\xff"))
    expect("without a key", service.request("GET", "/web/response")[0], 401)
    expect("a subtree", service.request("GET", "/tree/a/b")[2], b"/tree/a/b")
    expect("a collection", json.loads(service.request("GET", "/books")[2]), [1, 2])
    expect("a member", json.loads(service.request("GET", "/books/7")[2]), {"id": "7"})


def check_provider(service: FunctionService):
    def log_in(provider: str, code: str) -> tuple:
        return service.post("/auth/login", {
            "api_key": service.api_key, "provider": provider, "provider_auth_data": {"code": code}})
    status, first = log_in("com.example", "right")
    expect("a login", status, 200)
    expect("the same user", log_in("com.example", "right")[1]["result"]["user_id"], first["result"]["user_id"])
    token = first["result"]["access_token"]
    expect("its token", service.function("who", token=token)["user"], first["result"]["user_id"])
    expect("a refused login", log_in("com.example", "wrong")[1]["error"]["code"], 105)
    expect("an unknown provider", log_in("com.other", "right")[1]["error"]["code"], 108)


def check_events(service: FunctionService):
    expect("a start", ["ready"] in service.function("seen"), True)
    extra = {"extra": {"fields": [{"name": "a", "type": "string"}]}}
    service.call("schema:create", {"record_types": extra}, master=True)

    def is_told():
        return any(entry[0] == "schema" and "extra" in entry for entry in service.function("seen"))
    until(PATIENCE, "schema-changed", is_told)
