"""skyrow-functions.mjs, called as the service calls it."""

import json
import socket
import tempfile
import threading
import time
from pathlib import Path

from envelope import Server, signed
from setting import APPS, NODE_SERVER, PATIENCE, Stub, expect, free_address

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def node(address: str, *files: Path, **environment: str) -> Server:
    return Server(["node", str(NODE_SERVER), address, *map(str, files)], address, environment)


def run(_binary: Path):
    check_signatures()
    check_calls()
    check_hooks()
    check_handlers()
    check_calls_back()
    check_bounds()
    check_sockets()
    check_ends()
    check_start()


def check_signatures():
    # The vector of the specification of Standard Webhooks.
    body = b'{"test": 2432232314}'
    head = signed(SECRET, body, at=1614265330, id="msg_p5jXN8AQM9LWM0D4loKWxJek")
    expect("the signature", head["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")

    with node(free_address(), APPS / "by_hand.mjs", SKYROW_FUNCTION_SECRET=f"other {SECRET}") as server:
        server.logged("listens")
        call = json.dumps({"kind": "event", "name": "init"}).encode()
        now = time.time()
        rows = [
            ("a signature", signed(SECRET, call), 200),
            ("one by another secret of two", signed("other", call), 200),
            ("one of two", signed(SECRET, call) | {
                "webhook-signature": "v1,AAAA v2,x " + signed(SECRET, call)["webhook-signature"]}, 200),
            ("none", {}, 401),
            ("one by a secret of others", signed("whsec_AAAA", call), 401),
            ("one of another body", signed(SECRET, call + b" "), 401),
            ("one of another id", signed(SECRET, call) | {"webhook-id": "msg_2"}, 401),
            ("one that is too old", signed(SECRET, call, at=now - 400), 401),
            ("one of the future", signed(SECRET, call, at=now + 400), 401),
            ("one without a number", signed(SECRET, call) | {"webhook-timestamp": "now"}, 401),
            ("one of another length", signed(SECRET, call) | {"webhook-signature": "v1,AAAA"}, 401),
        ]
        for what, head, status in rows:
            found, answer = server.post(call, head)
            expect(what, found, status)
            expect(what, "result" in answer, status == 200)
            if status != 200:
                expect(what, answer["error"]["code"], 106)


def check_calls():
    with node(free_address(), APPS / "by_hand.mjs").await_ready() as server:
        kinds = {kind: entries for kind, entries in server.registration.items() if kind != "protocol"}
        expect("the protocol", server.registration["protocol"], "skyrow/1")
        expect("the kinds", sorted(kinds), ["event", "handler", "hook", "op", "provider", "timer"])
        expect("a function", kinds["op"][0], {
            "name": "hello", "key_required": False, "user_required": True, "roles": ["friend"], "summary": "Greets.",
            "timeout": "2s", "read_only": True, "rate_limit": 5})
        hooks = [(hook["name"], hook["batch"]) for hook in kinds["hook"] if hook["trigger"] == "beforeSave"]
        expect("the hooks", hooks, [
            ("beforeSave:note", 100), ("beforeSave:note-2", 10), ("beforeSave:*", 100)])
        expect("a hook", kinds["hook"][0], {
            "name": "beforeSave:note", "type": "note", "trigger": "beforeSave", "batch": 100, "when": ["create"],
            "fields": ["title"]})
        expect("the handlers", [(each["name"], each["methods"], each["key_required"]) for each in kinds["handler"]], [
            ("web:hello", ["GET"], False), ("web:object", ["POST"], True), ("web:object", ["PUT"], True),
            ("web:tree:", ["GET"], False), ("web:bytes", ["GET"], False)])
        expect("the timers", kinds["timer"], [{"name": "clean", "spec": "0 4 * * *"}])
        expect("the events", kinds["event"], [{"name": "server-ready"}])
        expect("the providers", kinds["provider"], [{"type": "auth", "id": "com.example", "name": "com.example"}])

        context = {
            "user_id": "u1", "roles": ["friend"], "access_key_type": "client", "depth": 2, "client_address": "192.0.2.1"}
        expect("a result", server.op("hello", {"name": "Ann"}, context=context)["result"], {
            "name": "Ann", "user": "u1", "roles": ["friend"], "master": False, "depth": 2, "from": "192.0.2.1"})
        anonymous = server.op("hello", {"name": "Ann"})["result"]
        expect("an anonymous caller", anonymous, {"name": "Ann", "roles": [], "master": False, "depth": 1})
        typed = {"date": {"$type": "date", "$date": "2026-01-31T09:00:00.123456Z"}}
        expect("a typed value", server.op("list", typed)["result"], typed)
        expect("a list", server.op("list", [1, "b"])["result"], [1, "b"])
        expect("no arguments", server.op("list")["result"], {})
        expect("no result", server.op("nothing")["result"], None)
        expect("a refusal", server.op("refuse")["error"], {"code": 20001, "message": "No.", "info": {"why": "because"}})
        expect("a code that is no number", server.op("odd")["error"]["code"], 10000)
        expect("an unknown function", server.op("unknown")["error"]["code"], 117)
        expect("an unknown kind", server.send("trigger", "x")["error"]["code"], 117)

        crash = server.op("crash", context={"request_id": "r1"})
        expect("a crash", crash["error"], {"code": 10000, "message": "It broke."})
        line = server.logged("It broke.")
        expect("its line", (line["level"], line["request_id"]), ("error", "r1"))
        assert "by_hand.mjs" in line["stack"], line
        server.op("log", context={"request_id": "r2"})
        expect("a line", server.logged("is odd"), {
            "level": "warning", "message": "Something is odd.", "part": 3, "request_id": "r2"})
        server.op("stray")
        server.logged("stray promise")

        expect("an unknown event", server.event("other"), None)
        server.event("server-ready")
        server.send("timer", "clean")
        expect("what happened", server.op("seen")["result"], ["ready", "ready, too", "cleaned"])
        login = {"action": "login", "auth_data": {"code": "right"}}
        expect("a provider", server.send("provider", "com.example", login)["result"], {
            "principal_id": "ann", "auth_data": {"name": "Ann"}})
        login["auth_data"]["code"] = "wrong"
        expect("its refusal", server.send("provider", "com.example", login)["error"]["code"], 105)

        # Many calls over one connection.
        connection = server.connection()
        connection.connect()
        own = connection.sock.getsockname()
        for number in range(100):
            expect("a result", server.op("list", [number], connection=connection)["result"], [number])
        expect("the connection", connection.sock.getsockname(), own)
        connection.close()


def check_hooks():
    with node(free_address(), APPS / "by_hand.mjs").await_ready() as server:
        def verdict(**record):
            return server.hook("beforeSave:note", {"_id": "note/1", **record})[0]

        expect("a change", verdict(title=" a "), {"set": {"title": "a", "isNew": True}})
        old = {"record": {"title": "a", "isNew": False}, "original": {"title": "b"}, "changed": ["title"]}
        expect("no change", server.hook("beforeSave:note", old), [{}])
        expect("a field that is removed", verdict(title="clear", body="x", isNew=True), {"set": {"body": None}})
        expect("an access list", verdict(title="public", isNew=True, _access=None), {
            "access": [{"public": True, "level": "read"}]})
        expect("an exception", verdict(title="bad"), {"error": {"code": 20002, "message": "A bad title."}})
        expect("a crash", verdict(title="crash"), {"error": {"code": 10000, "message": "It broke."}})
        expect("large numbers", server.hook("beforeSave:note", {"title": "a", "isNew": True, "big": 2**60 + 1}), [{}])
        verdicts = server.hook("beforeSave:note", *({"title": title, "isNew": True} for title in ["a", "refused", "b"]))
        expect("one of three", verdicts, [{}, {"error": {"code": 20003, "message": "Refused."}}, {}])
        expect("a batch", server.hook("beforeSave:note-2", {}, {}), [{"set": {"total": 2}}] * 2)
        expect("read records", server.hook("afterFetch:note", {"title": "a"}, {"hidden": True}), [
            {"set": {"title": "A"}}, {"drop": True}])
        expect("a query", server.send("hook", "beforeQuery:note", {"query": {"record_type": "note", "limit": 9}}), {
            "result": {"limit": 5}})
        expect("a delete", server.hook("beforeDelete:note", {"title": "a"}, {"title": "kept"}), [
            {}, {"error": {"code": 20005, "message": "It is kept."}}])
        expect("after a save", server.hook("afterSave:note", {"title": "a"}), [{}])
        late = server.send("hook", "afterSave:note", {"records": [{"record": {"title": "a"}}, {"record": {"title": "late"}}]})
        expect("a failure after a save", late["error"], {"code": 20006, "message": "Too late."})
        user = {"_id": "user/1", "banned": True}
        expect("a login", server.send("hook", "beforeLogin:user", {"user": user})["error"]["code"], 20004)
        user["banned"] = False
        assert "error" not in server.send("hook", "beforeLogin:user", {"user": user})
        server.send("hook", "afterLogin:user", {"user": user})
        expect("who logged in", server.op("seen")["result"], ["user/1"])


def check_handlers():
    with node(free_address(), APPS / "by_hand.mjs").await_ready() as server:
        text = server.handler("GET", "web:hello", "/web/hello", query="name=A%20B", header={"X-One": ["1"]})
        expect("a text", text, (200, {"content-type": ["text/plain; charset=utf-8"]}, b"Hello A B 1"))
        json_ = server.handler("PUT", "web:object", "/web/object", body=b'{"a":1}')
        expect("JSON", (json_[1], json.loads(json_[2])), (
            {"content-type": ["application/json"]}, {"method": "PUT", "got": {"a": 1}}))
        status, header, body = server.handler("GET", "web:tree:", "/web/tree/a/b")
        expect("a response", (status, header["x-path"], body), (201, ["/web/tree/a/b"], b"/web/tree/a/b"))
        expect("bytes", server.handler("GET", "web:bytes", "/web/bytes")[2], b"\0\xff")
        unknown = server.send("handler", "web:hello", {"method": "DELETE", "path": "/web/hello", "header": {}, "body": ""})
        expect("another method", unknown["error"]["code"], 117)


def check_calls_back():
    def answer(_path, _head, body):
        call = json.loads(body)
        if call["method"] == "refused":
            return 200, {"jsonrpc": "2.0", "id": 1, "error": {
                "code": 102, "message": "No.", "data": {"name": "PermissionDenied", "info": {"a": 1}}}}
        return 200, {"jsonrpc": "2.0", "id": 1, "result": call["params"]}

    environment = {"SKYROW_API_KEY": "the-key", "SKYROW_MASTER_KEY": "the-master"}
    with Stub(answer) as stub:
        environment["SKYROW_ENDPOINT"] = stub.url
        with node(free_address(), APPS / "by_hand.mjs", **environment).await_ready() as server:
            def back(options=None, action="record:save", context=None):
                arguments = {"action": action, "params": {"a": 1}, "options": options or {}}
                answer = server.op("back", arguments, context=context or {"token": "the-token"}, headers={
                    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
                path, head, _ = stub.requests[-1]
                head = {name.lower(): value for name, value in head.items()}
                expect("the path", path, "/rpc")
                expect("the trace", head["traceparent"][:10], "00-0af7651")
                return answer, head["x-skygear-api-key"], head.get("authorization")

            expect("as the caller", back(), ({"result": {"a": 1}}, "the-key", "Bearer the-token"))
            expect("without a user", back(context={"depth": 1}), ({"result": {"a": 1}}, "the-key", None))
            expect("as master", back({"asMaster": True}), ({"result": {"a": 1}}, "the-master", None))
            expect("as a user", back({"asUser": "u2"}), ({"result": {"a": 1, "_user_id": "u2"}}, "the-master", None))
            expect("a refusal", back(action="refused")[0], {"error": {"code": 102, "message": "No.", "info": {"a": 1}}})


def check_bounds():
    with node(free_address(), APPS / "by_hand.mjs", SKYROW_FUNCTION_BODY="1000").await_ready() as server:
        expect("what is too large", server.post(b" " * 1001)[0], 413)
        expect("what is not", server.post(b" " * 1000)[0], 400)
        for body in [b"", b"{", b"[]", b"null", b"1", b'{"kind": 1}', b"\xff\xfe"]:
            expect(f"the body {body}", server.post(body)[0], 400)
        connection = server.connection()
        connection.request("GET", "/")
        expect("GET", connection.getresponse().status, 405)
        connection.close()
        # A body of unknown length is cut off.
        host, port = server.address.split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as raw:
            raw.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b" " * 1024 + b"\r\n")
            assert not raw.recv(1000).startswith(b"HTTP/1.1 200")
        late = server.op("wait", context={"deadline_ms": 50})
        expect("a call that is late", late["error"]["message"], "The time of the call is over.")
        # A caller who goes ends the call.
        connection = server.connection()
        connection.request("POST", "/", json.dumps({"kind": "op", "name": "wait"}))
        connection.close()
        server.logged("The caller has gone.")


def check_sockets():
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/functions.sock"
        # A socket that a killed server left.
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(path)
        with node(f"unix:{path}", APPS / "by_hand.mjs").await_ready() as server:
            expect("a result", server.op("list", [1])["result"], [1])
            expect("its mode", Path(path).stat().st_mode & 0o777, 0o660)
            with node(f"unix:{path}", APPS / "by_hand.mjs") as second:
                expect("a second server", second.process.wait(PATIENCE), 1)
            expect("the first", server.op("list", [1])["result"], [1])


def check_ends():
    with node(free_address(), APPS / "by_hand.mjs").await_ready() as server:
        kept = server.connection()
        server.op("list", connection=kept)
        answers = []
        call = threading.Thread(target=lambda: answers.append(server.op("slow", {"milliseconds": 1000})))
        call.start()
        server.logged("A slow call began.")
        expect("the status", server.terminate(), 0)
        call.join(PATIENCE)
        expect("a call that ran", answers, [{"result": "done"}])


def check_start():
    with tempfile.TemporaryDirectory() as directory:
        rows = {
            "syntax.mjs": ("const = 1", "SyntaxError"),
            "twice.mjs": ("skyrow.define('a', () => 1); skyrow.define('a', () => 2)", "The op a is registered twice."),
            "none.mjs": ("skyrow.define('a', { user: true })", "define needs a function"),
            "throws.mjs": ("throw new Error('not today')", "not today"),
        }
        for name, (text, complaint) in rows.items():
            file = Path(directory, name)
            file.write_text(text)
            with node(free_address(), file) as server:
                expect(name, server.process.wait(PATIENCE), 1)
                server.reader.join(PATIENCE)
                assert complaint in "\n".join(server.lines), server.lines
        with node("nowhere", APPS / "by_hand.mjs") as server:
            expect("an address", server.process.wait(PATIENCE), 1)
        with Server(["node", str(NODE_SERVER)], "") as server:
            expect("no arguments", server.process.wait(PATIENCE), 64)
