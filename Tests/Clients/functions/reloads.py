"""Functions that change while they are called: no call is lost, and a broken version changes nothing (F-13)."""

import threading
from pathlib import Path

from service import until
from setting import PATIENCE, FunctionService, expect

CALLERS = 8


def version(number: int) -> str:
    return f"""
        const {{ define, beforeSave }} = skyrow
        define("version", () => {number})
        define("slow", () => new Promise((done) => setTimeout(() => done({number}), 2500)))
        beforeSave("memo", ({{ record }}) => {{ record.version = {number} }})
        """


class Load:
    """Callers that call and save until they are stopped."""

    def __init__(self, service: FunctionService):
        self.service = service
        self.failures = []
        self.latest = [0] * CALLERS
        self.calls = [0] * CALLERS
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(CALLERS)]

    def run(self, number: int):
        while not self.stopping.is_set():
            try:
                if number % 2:
                    found = self.service.function("version")
                else:
                    found = self.service.save({"_id": f"memo/{number}", "text": "a"}, master=True)[0]["version"]
                if found < self.latest[number]:
                    self.failures.append(f"version {found} after {self.latest[number]}")
                self.latest[number] = found
                self.calls[number] += 1
            except Exception as failure:  # asserted at the end
                self.failures.append(repr(failure))

    def until(self, what: str, condition):
        until(PATIENCE, what, lambda: self.failures or condition())
        expect("failures", self.failures, [])

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(PATIENCE)


def run(binary: Path):
    with FunctionService(binary) as service:
        service.write("app.mjs", version(1))
        service.start()
        service.call("schema:create", {"record_types": {"memo": {"fields": [
            {"name": "text", "type": "string"}, {"name": "version", "type": "integer"}]}}}, master=True)
        service.await_ready()
        with Load(service) as load:
            for number in range(1, 5):
                service.write("app.mjs", version(number))
                load.until(f"version {number}", lambda: all(each == number for each in load.latest))
            # A call that runs during a reload ends in the version in which it began.
            results = []
            slow = threading.Thread(target=lambda: results.append(service.function("slow")))
            slow.start()
            service.write("app.mjs", version(5))
            load.until("version 5", lambda: all(each == 5 for each in load.latest))
            slow.join(PATIENCE)
            expect("the slow call", results, [4])

            broken = ["const = 1", "process.exit(3)", version(6).replace('"version"', '"record:save"')]
            for number, text in enumerate(broken):
                before = service.log.stat().st_size
                service.write("app.mjs", text)
                load.until(f"the complaint about the broken version {number}", lambda: complains(service, before))
                sums = list(load.calls)
                load.until("calls", lambda: all(now > then + 50 for now, then in zip(load.calls, sums)))
                expect("the version", load.latest, [5] * CALLERS)
            service.write("app.mjs", version(7))
            load.until("version 7", lambda: all(each == 7 for each in load.latest))
        expect("failures", load.failures, [])


def complains(service: FunctionService, offset: int) -> bool:
    """Whether the log has a warning or an error since then."""
    with service.log.open() as file:
        file.seek(offset)
        return any('"warning"' in line or '"error"' in line for line in file)
