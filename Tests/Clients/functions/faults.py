"""Function servers that never start, die, send garbage, and never end (F-3 to F-6)."""

import os
import signal
import threading
from pathlib import Path

from service import MEGABYTE, Sampler, until
from setting import PATIENCE, FunctionService, Refusal, expect, python_server, refusal

TYPES = {
    "guarded": {"fields": [{"name": "fault", "type": "string"}, {"name": "note", "type": "string"}]},
    "free": {"fields": [{"name": "text", "type": "string"}]},
}
#: The code of each fault; more than one where a server cannot say which end of the connection broke first.
CODES = {
    "garbage": {10000}, "no-http": {118, 10000}, "empty": {10000}, "page": {10000}, "number": {10000}, "list": {10000},
    "neither": {10000}, "error-text": {10000}, "error-code": {10000}, "error-zero": {10000}, "deep": {10000},
    "no-utf8": {10000}, "trailing": {10000}, "redirect": {10000}, "half": {118, 10000}, "head": {118, 10000}, "closed": {118},
    "endless": {10000}, "long": {10000}, "drip": {119}, "hang": {119}, "refused": {20001},
}
RESULTS = {"ok": "ok", "status": "kept", "http-1.0": "old", "slow-head": "ok", "continue": "ok", "twice": "first"}


def run(binary: Path):
    check_answers(binary)
    check_deaths(binary)
    check_starts(binary)
    check_output(binary)


def hostile(**options) -> dict:
    return {"command": python_server("hostile.py"), "timeout": "2s", **options}


def started(binary: Path, *arguments: str, **options) -> FunctionService:
    service = FunctionService(binary, *arguments, development=False)
    service.configure(main=hostile(**options))
    service.start()
    service.call("schema:create", {"record_types": TYPES}, master=True)
    return service.await_ready()


def check_answers(binary: Path):
    """What a server sends is bounded in size and time, and harms no other call (F-5)."""
    with started(binary) as service, Sampler(service) as sampler:
        before = service.resident
        for name, value in RESULTS.items():
            expect(name, service.function(name), value)
            expect(f"the call after {name}", service.function("ok"), "ok")
        for name, codes in CODES.items():
            error = refusal(lambda: service.function(name))
            assert error.code in codes, f"{name}: {error.text} instead of {codes}"
            if name == "refused":
                expect("its info", error.info, {"a": [1, {"b": None}]})
            expect(f"the call after {name}", service.function("ok"), "ok")
        # A number is text, and is passed on as it is.
        try:
            service.function("number-too-large")
        except Refusal as refused:
            expect("a number of 100,000 digits", refused.code, 10000)
        except ValueError:
            # Python itself reads no number of more than 4,300 digits.
            pass

        # The same for hooks, which fail closed; what needs no hook goes on.
        verdicts = ["none", "two", "object", "text", "unknown", "reserved", "set-list", "access-text", "typed"]
        for name in [*verdicts, *(name for name in CODES if name != "refused")]:
            [outcome] = service.save({"_id": "guarded/1", "fault": name}, master=True)
            allowed = CODES.get(name, {10000, 108, 114})
            assert outcome.get("code") in allowed, f"{name}: {outcome} instead of {allowed}"
            [free] = service.save({"_id": "free/1", "text": name}, master=True)
            expect("a type without hooks", free["text"], name)
        expect("what is stored", service.psql("SELECT count(*) FROM guarded"), "0")
        [outcome] = service.save({"_id": "guarded/1"}, master=True)
        expect("a save that passes", outcome["_type"], "record")

        # Many at once.
        outcomes = []
        def fail():
            outcomes.append(refusal(lambda: service.function("endless")).code)
        faults = [threading.Thread(target=fail) for _ in range(8)]
        for thread in faults:
            thread.start()
        for thread in faults:
            thread.join(PATIENCE)
        assert len(outcomes) == 8 and set(outcomes) <= {10000, 119}, outcomes
        expect("the call after them", service.function("ok"), "ok")
    grown = (sampler.peak - before) // MEGABYTE
    # Eight answers of up to 8 MB each, read and parsed.
    assert grown < 300, f"the service grew by {grown} MB"


def check_deaths(binary: Path):
    """A server that dies takes one call with it, and comes back (F-4)."""
    with started(binary) as service:
        for fault in ["die", "die", "kill"]:
            first = service.function("pid")
            if fault == "kill":
                codes = []
                call = threading.Thread(target=lambda: codes.append(refusal(lambda: service.function("hang")).code))
                call.start()
                os.kill(first, signal.SIGKILL)
                call.join(PATIENCE)
                # The signal may come before the call or during it.
                assert codes in ([118], [121]), codes
            else:
                expect("the call that it dies of", refusal(lambda: service.function(fault)).code, 118)
            expect("the service is ready", service.request("GET", "/readyz")[0], 200)
            until(PATIENCE, "the server", lambda: answers(service))
            assert service.function("pid") != first


def answers(service: FunctionService) -> bool:
    try:
        return service.function("ok") == "ok"
    except Refusal as refusal:
        assert refusal.code in (118, 121), refusal.text
        return False


def check_starts(binary: Path):
    """A server that never starts: the service serves, and what is hooked is refused (F-3)."""
    with started(binary) as service:
        expect("a hooked save", service.save({"_id": "guarded/1"}, master=True)[0]["_type"], "record")
        service.configure(
            main={"command": ["false"]}, missing={"command": ["/nonexistent/program"]}, other=hostile())
        # The third has the same names as the first, and the first has them.
        service.restart()
        until(PATIENCE, "the third server", lambda: service.states()["other"] == "refused")
        assert service.states()["main"] in ("down", "starting"), service.states()
        expect("the service is ready", service.request("GET", "/readyz")[0], 200)
        for _ in range(3):
            assert refusal(lambda: service.function("ok")).code in (118, 121)
            [outcome] = service.save({"_id": "guarded/1", "note": "x"}, master=True)
            assert outcome["code"] in (118, 121), outcome
            expect("another save", service.save({"_id": "free/1", "text": "a"}, master=True)[0]["text"], "a")
        expect("a fetch", service.call("record:fetch", {"ids": ["guarded/1"]}, master=True)[0]["_type"], "record")
        [saved] = service.save({"_id": "guarded/1", "note": "y"}, master=True, hooks=False)
        expect("a save without hooks", saved["note"], "y")
        service.configure(main=hostile())
        service.restart()
        until(PATIENCE, "the server", lambda: answers(service))


def check_output(binary: Path):
    """Output and memory are bounded (F-6)."""
    with started(binary, memory="128MB") as service:
        before = service.log.stat().st_size
        with Sampler(service) as sampler:
            resident = service.resident
            # The service reads on, or the server would wait.
            try:
                expect("a server that shouts", service.function("shout"), "done")
            except Refusal as refusal:
                expect("a server that shouts for long", refusal.code, 119)
            until(PATIENCE, "dropped lines", lambda: "were dropped" in service.log.read_text(errors="replace"))
            expect("a call afterwards", service.function("ok"), "ok")
        lines = service.log.read_text(errors="replace").splitlines()
        assert sum("shouted" in line for line in lines) < 20_000, len(lines)
        assert max(map(len, lines)) < 64 * 1024, max(map(len, lines))
        grown = service.log.stat().st_size - before
        assert grown < 8 * MEGABYTE, grown
        assert sampler.peak - resident < 100 * MEGABYTE, sampler.peak - resident

        first = service.function("pid")
        try:
            service.function("grow")
        except Refusal as refusal:
            # A slow machine takes longer for the memory than the call may.
            assert refusal.code in (118, 119), refusal.text

        def is_replaced():
            try:
                return service.function("pid") != first
            except Refusal as refusal:
                assert refusal.code in (118, 119, 121), refusal.text
                return False
        until(PATIENCE, "a server with little memory", is_replaced)
