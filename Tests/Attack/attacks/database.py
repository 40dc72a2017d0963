"""Faults of PostgreSQL, and ordinary events in it that stop innocent clients."""

import os
import signal
import threading
import time

from attack import Bystander, attack
from client import Client, Load, address, code, in_parallel
from service import Service, until


def users(service, setting, count: int) -> list[Client]:
    """Clients of the owner, each from its own address and with its own connection."""
    return [Client(service, address(number), setting.owner.token) for number in range(count)]


def saver(kind: str):
    lock = threading.Lock()
    counter = iter(range(10**9))

    def save(client):
        with lock:
            number = next(counter)
        response = client.call("record:save", records=[{"_id": f"{kind}/{time.monotonic_ns()}-{number}", "n": number}])
        return code(response) or code(response["result"][0])
    return save


@attack("database-failing-group")
def failing_group(service, findings, setting):
    """Four of 48 clients save records with missing references; the others' throughput comes back at once."""
    setting.owner.save({"_id": "kind/one"}, {"_id": "thing/0", "kind": {"$type": "ref", "$id": "kind/one"}},
                       {"_id": "item/0", "n": 0})
    save = saver("item")

    def save_badly(client):
        return code(client.call("record:save", records=[
            {"_id": f"thing/{time.monotonic_ns()}", "kind": {"$type": "ref", "$id": "kind/none"}}])["result"][0])
    with Load(users(service, setting, 44), save) as load:
        time.sleep(1)
        clean = load.rate(3)
        with Load(users(service, setting, 4), save_badly):
            time.sleep(1)
            beside = load.rate(3)
        time.sleep(1)
        after = load.rate(3)
    findings.figure("saves/s before, beside, after", f"{clean:.0f}, {beside:.0f}, {after:.0f}")
    findings.expect(beside > clean / 4, f"{beside:.0f} saves a second beside failing ones, {clean:.0f} without")
    findings.expect(after > clean * 0.6, f"{after:.0f} saves a second after the failures, {clean:.0f} before")


@attack("database-locked-row")
def locked_row(service, findings, setting):
    """psql locks one row, which 20 clients save; saves of other rows go on."""
    setting.owner.save({"_id": "item/locked", "n": 0})
    with service.session() as psql:
        psql.run("BEGIN; SELECT 1 FROM item WHERE _id = 'locked' FOR UPDATE;")

        def save_locked(client):
            response = client.call("record:save", records=[{"_id": "item/locked", "n": 1}])
            return code(response) or code(response["result"][0])
        with Load(users(service, setting, 20), save_locked):
            time.sleep(1)
            save = saver("item")
            others = users(service, setting, 32)[20:]
            began = time.monotonic()
            found = in_parallel(12, lambda index: save(others[index]))
            took = time.monotonic() - began
            psql.run("ROLLBACK;")
    findings.figure("12 other saves s", took)
    findings.expect(found == [None] * 12, f"saves of other rows are answered with {found}")
    findings.expect(took < 5, f"saves of other rows took {took:.1f} s")


@attack("database-locked-table")
def locked_table(service, findings, setting):
    """psql locks a table, which eight clients ask eight different things; reads of other tables go on."""
    setting.owner.save({"_id": "ledger/one", "a": 1, "b": 1, "c": 1, "d": 1})
    with service.session() as psql:
        psql.run("BEGIN; LOCK TABLE ledger IN ACCESS EXCLUSIVE MODE;")
        clients = users(service, setting, 8)
        sorts = [[[{"$type": "keypath", "$val": name}, order]] for name in "abcd" for order in ("asc", "desc")]

        def ask(client):
            return code(client.call("record:query", record_type="ledger", sort=sorts[clients.index(client)]))
        bystander = Bystander(service)
        with Load(clients, ask):
            for _ in range(4):
                bystander.look(10)
                time.sleep(0.5)
            psql.run("ROLLBACK;")
    findings.figure("fetch meanwhile ms", round(max(bystander.times) * 1000, 1))
    findings.expect(max(bystander.times) < 0.3, f"fetches of another table took {bystander.times} s at the median")


@attack("database-slow-trigger")
def slow_trigger(service, findings, setting):
    """A type has a trigger that takes 0.5 s; saves of other types stay quick."""
    setting.owner.save({"_id": "slow/0", "n": 0}, {"_id": "item/0", "n": 0})
    service.psql("""
        CREATE OR REPLACE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END';
        DROP TRIGGER IF EXISTS be_slow ON slow;
        CREATE TRIGGER be_slow BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION be_slow()""")
    with Load(users(service, setting, 8), saver("slow")):
        time.sleep(3)
        with Load(users(service, setting, 24)[8:], saver("item")) as load:
            time.sleep(5)
    findings.figure("save p50 ms", round(load.median * 1000, 1))
    findings.expect(load.median < 0.25, f"saves of another type take {load.median:.2f} s at the median")


@attack("database-schema-changes")
def schema_changes(service, findings, setting):
    """Eight clients fetch, query and save while a ninth adds, renames and drops fields."""
    setting.owner.save({"_id": "item/stable", "n": 0})
    save = saver("item")

    def use(client):
        for response in (client.call("record:fetch", ids=["item/stable"]),
                         client.call("record:query", record_type="item", limit=5)):
            if code(response):
                return code(response)
        return save(client)
    stop = time.monotonic() + 8
    changes = 0
    with Load(users(service, setting, 8), use) as load:
        while time.monotonic() < stop:
            name = f"extra{changes}"
            setting.master.result("schema:create", record_types={"item": {"fields": [{"name": name, "type": "string"}]}})
            setting.master.result("schema:rename", record_type="item", item_name=name, new_name=f"{name}b")
            setting.master.result("schema:delete", record_type="item", item_name=f"{name}b")
            changes += 3
    findings.figure("changes", changes)
    findings.figure("calls", load.succeeded)
    findings.expect(not load.failures, f"{len(load.failures)} failures: {sorted(set(map(str, load.failures)))[:5]}")


@attack("database-killed-backends")
def killed_backends(service, findings, setting):
    """Every backend is ended twice a second under load; nothing acknowledged is lost."""
    setting.owner.save({"_id": "entry/0", "n": 0})
    acknowledged = []
    lock = threading.Lock()

    def save(client):
        identifier = f"{time.monotonic_ns()}-{client.address}"
        response = client.call("record:save", records=[{"_id": f"entry/{identifier}", "n": 1}])
        found = code(response) or code(response["result"][0])
        if found is None:
            with lock:
                acknowledged.append(identifier)
        return found
    with Load(users(service, setting, 16), save) as load:
        for _ in range(8):
            time.sleep(0.5)
            for pid in service.postgres_processes()[1:]:
                try:
                    with open(f"/proc/{pid}/cmdline") as file:
                        if "[local]" in file.read() or "skyrow" in file.read():
                            os.kill(pid, signal.SIGTERM)
                except (OSError, ProcessLookupError):
                    continue
        time.sleep(2)
    found = set(service.psql("SELECT _id FROM entry").splitlines())
    missing = [identifier for identifier in acknowledged if identifier not in found]
    findings.figure("acknowledged", len(acknowledged))
    findings.expect(not missing, f"{len(missing)} acknowledged saves are missing")
    findings.expect(set(map(str, load.failures)) <= {"135", "136"}, f"failures {set(map(str, load.failures))}")


@attack("database-silent", is_alone=True)
def silent(service, findings, setting):
    """PostgreSQL is stopped with SIGSTOP; SIGTERM ends the service nevertheless."""
    own = Service(service.binary).start()
    processes = []
    try:
        owner = Client(own).sign_up("owner")
        owner.save({"_id": "note/seed"})
        processes = own.postgres_processes()
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        clients = [Client(own, address(number), owner.token, timeout=5) for number in range(8)]
        with Load(clients, lambda client: code(client.call("record:fetch", ids=["note/seed"]))):
            time.sleep(2)
            threading.Timer(45, lambda: [os.kill(pid, signal.SIGCONT) for pid in processes]).start
            took = own.stop(60)
        findings.figure("ended after s", round(took, 1))
        findings.expect(took < 45, f"SIGTERM took {took:.0f} s with a silent PostgreSQL")
    finally:
        for pid in processes:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
        until(20, "PostgreSQL to end", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in processes))
        own.remove()
