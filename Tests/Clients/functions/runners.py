"""One table of functions and hooks, in JavaScript, SQL and Python (F-2)."""

import shutil
from pathlib import Path

from service import until
from setting import APPS, PATIENCE, FunctionService, Refusal, expect, refusal

FIELDS = {
    "memo": {"fields": [
        {"name": "text", "type": "string"}, {"name": "length", "type": "integer"},
        {"name": "locked", "type": "boolean"}]},
    "trace": {"fields": [{"name": "text", "type": "string"}]},
}


class Runner:
    """A service with the table in one language. Its mode is that of production."""

    def __init__(self, name: str, has_schemas: bool, has_master: bool):
        self.name = name
        #: Whether arguments are checked before a call.
        self.has_schemas = has_schemas
        #: Whether a function can be the master key's.
        self.has_master = has_master

    def start(self, binary: Path) -> FunctionService:
        service = FunctionService(binary, development=False)
        if self.name != "sql":
            shutil.copy(APPS / f"table.{self.name}", service.functions / f"app.{self.name}")
        service.start()
        if self.name == "sql":
            service.psql((APPS / "table.sql").read_text())
            until(PATIENCE, "the functions", lambda: outcome(service.function, "keyed") == ("result", "in"))
        else:
            service.call("schema:create", {"record_types": FIELDS}, master=True)
            service.await_ready()
        return service


NODE = Runner("mjs", has_schemas=True, has_master=True)
SQL = Runner("sql", has_schemas=True, has_master=True)
SKYGEAR = Runner("py", has_schemas=False, has_master=False)


def run(binary: Path):
    for runner in [NODE, SQL]:
        check(runner, binary)


def run_skygear(binary: Path):
    check(SKYGEAR, binary)


def check(runner: Runner, binary: Path):
    with runner.start(binary) as service:
        tokens = {"ann": service.sign_up("ann"), None: {"access_token": None}}
        for name, arguments, caller, expected in functions(runner, tokens["ann"]["user_id"]):
            master = caller == "master"
            token = None if master else tokens[caller]["access_token"]
            found = outcome(service.function, name, arguments, token, master)
            expect(f"{name} {arguments} by {caller} in {runner.name}", found, expected)
        check_forms(service)
        check_hooks(service, runner)
        check_crash(service, runner)


def outcome(body, *arguments) -> tuple:
    """The result of a call, or its code and info."""
    try:
        return "result", body(*arguments)
    except Refusal as refusal:
        return refusal.code, refusal.info


def functions(runner: Runner, ann: str) -> list[tuple]:
    """A function, its arguments, who calls it, and the outcome."""
    rows = [
        *(("echo", {"value": value}, None, ("result", value)) for value in [
            None, True, 1, -2.5, "", "ä€😀", [], {}, [1, [2, {"a": None}]], {"$type": "ref", "$id": "memo/1"}]),
        ("add", {"a": 1, "b": 2.5}, None, ("result", 3.5)),
        ("add", {"a": -1, "b": 1}, None, ("result", 0)),
        ("greet", {"name": "Ann"}, None, ("result", "Hello Ann")),
        ("greet", {}, None, ("result", "Hello you")),
        ("greet", None, None, ("result", "Hello you")),
        ("who", None, "ann", ("result", ann)),
        ("who", None, None, (101, None)),
        ("keyed", None, None, ("result", "in")),
        ("refuse", None, None, (20001, {"why": "because"})),
        ("deny", None, None, (102, None)),
        ("memos", None, None, ("result", 0)),
    ]
    if runner.has_schemas:
        rows += [
            ("add", {"a": 1}, None, (108, {"arguments": ["b"]})),
            ("add", {"a": 1, "b": "x"}, None, (108, {"arguments": ["b"]})),
        ]
    if runner.has_master:
        rows += [
            ("mastered", None, "master", ("result", "in")),
            ("mastered", None, "ann", (102, None)),
        ]
    return rows


def check_forms(service: FunctionService):
    """The same function by its name, and in the v1 envelope."""
    arguments = {"a": 1, "b": 2}
    expect("the method", service.call("add", arguments), 3)
    expect("the path", service.post("/add", {"args": arguments}), (200, {"result": 3}))
    expect("the action", service.post("/", {"action": "add", "args": arguments}), (200, {"result": 3}))
    expect("no key", service.post("/keyed", {})[0], 401)
    _, wrong = service.post("/add", {"args": arguments, "access_token": "wrong"})
    expect("a wrong token", wrong.get("error", {}).get("code"), 104)
    status, body = service.post("/refuse", {})
    expect("a refusal", (status, body["error"]["code"], body["error"]["info"]), (500, 20001, {"why": "because"}))


def check_hooks(service: FunctionService, runner: Runner):
    def texts() -> dict:
        records = service.call("record:query", {"record_type": "memo", "limit": 100}, master=True)["records"]
        return {record["_id"]: (record["text"], record["length"]) for record in records}

    def traced(id: str, text: str):
        def is_traced():
            [trace] = service.call("record:fetch", {"ids": [f"trace/{id}"]}, master=True)
            return trace.get("text") == text
        until(PATIENCE, f"trace/{id}", is_traced)

    token = service.sign_up("bob")["access_token"]
    [saved] = service.save({"_id": "memo/1", "text": "  one "}, token=token)
    expect("what is filled in", (saved["text"], saved["length"]), ("one", 3))
    traced("saved-1", "one")
    [saved] = service.save({"_id": "memo/1", "locked": True}, token=token)
    expect("a partial update", (saved["text"], saved["length"], saved["locked"]), ("one", 3, True))
    given = {2: "two", 3: " ", 4: "four"}
    outcomes = service.save(*({"_id": f"memo/{n}", "text": text} for n, text in given.items()), token=token)
    expect("one of three", [each.get("code") for each in outcomes], [None, 20010, None])
    error = outcomes[1]
    expect("its error", (error["message"], error["info"]), ("A memo needs a text.", {"arguments": ["text"]}))
    both = [{"_id": "memo/5", "text": "a"}, {"_id": "memo/6", "text": ""}]
    atomic = refusal(lambda: service.save(*both, token=token, atomic=True))
    expect("all or nothing", atomic.code, 115)
    [refused] = service.save({"_id": "memo/1", "text": ""}, token=token)
    expect("a refused update", refused["code"], 20010)
    expect("what is stored", texts(), {"memo/1": ("one", 3), "memo/2": ("two", 3), "memo/4": ("four", 4)})
    # A record that the caller may not change says no more than without a hook.
    [hidden] = service.save({"_id": "memo/1", "text": "x"}, token=service.sign_up("carl")["access_token"])
    expect("another one's record", hidden["code"], 102)

    outcomes = service.call("record:delete", {"ids": ["memo/1", "memo/2", "memo/9"]}, token)
    expect("deletes", [each.get("code") for each in outcomes], [20011, None, 110])
    traced("deleted-2", "two")
    expect("what is left", sorted(texts()), ["memo/1", "memo/4"])
    expect("a function that reads", service.function("memos"), 2)


def check_crash(service: FunctionService, runner: Runner):
    crash = refusal(lambda: service.function("crash"))
    expect("a crash", crash.code, 10000)
    assert "secret-of-the-code" not in crash.text and "Traceback" not in crash.text, crash.text
    # PostgreSQL's own log has the message of an error that the application did not raise for the client.
    text = "P0001" if runner.name == "sql" else "secret-of-the-code"
    until(PATIENCE, "its line in the log", lambda: text in service.log.read_text())
