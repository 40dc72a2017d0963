"""Saves that cost much, and records that should stay hidden."""

import time

from attack import attack
from client import Client, code


@attack("records-access-lists")
def access_lists(service, findings, setting):
    """Records with access lists of 0.9 MB."""
    entries = [{"user_id": f"user-{number:06}", "level": "read"} for number in range(18_000)]
    outcome = setting.owner.call("record:save", records=[{"_id": "note/listed", "_access": entries}])
    found = code(outcome) or code(outcome["result"][0])
    findings.expect(found in (108, 132), f"18,000 entries are answered with {found}")
    outcome = setting.owner.call("record:save", records=[{"_id": "note/listed", "_access": entries[:100]}])
    findings.expect(code(outcome["result"][0]) is None, f"100 entries are refused: {outcome}")


@attack("records-bad-references")
def bad_references(service, findings, setting):
    """10,000 records with references to records that do not exist, in one save."""
    setting.owner.save({"_id": "kind/one"}, {"_id": "thing/0", "kind": {"$type": "ref", "$id": "kind/one"}})
    records = [{"_id": f"thing/{number}", "kind": {"$type": "ref", "$id": f"kind/missing{number}"}}
               for number in range(10_000)]
    transaction = "SELECT pg_current_xact_id()"
    before = int(service.psql(transaction))
    began = time.monotonic()
    outcomes = setting.owner.result("record:save", records=records)
    took = time.monotonic() - began
    findings.figure("s", took)
    findings.expect(all(code(outcome) == 108 for outcome in outcomes), "an outcome is not 108")
    findings.expect(took < 5, f"the save took {took:.1f} s")
    after = int(service.psql(transaction))
    findings.figure("transactions", after - before)
    findings.expect(after - before < 1000, f"the save took {after - before} transactions")


@attack("records-hidden-in-batch")
def hidden_in_batch(service, findings, setting):
    """A record refers to a hidden one that is named in the same save."""
    setting.owner.save({"_id": "cat/hid", "_access": []})
    stranger = Client(service).sign_up(f"stranger{time.monotonic_ns()}")
    for order in (0, 1):
        records = [{"_id": f"leash/{order}", "cat": {"$type": "ref", "$id": "cat/hid"}}, {"_id": "cat/hid"}]
        outcomes = stranger.result("record:save", records=records[::-1] if order else records)
        findings.expect(all(code(outcome) is not None for outcome in outcomes), f"saved: {outcomes}")


@attack("records-pinned")
def pinned(service, findings, setting):
    """A private record refers to a public one, whose owner deletes it."""
    setting.owner.save({"_id": "poster/one"})
    stranger = Client(service).sign_up(f"pinner{time.monotonic_ns()}")
    stranger.save({"_id": "bookmark/one", "poster": {"$type": "ref", "$id": "poster/one"}}, database_id="_private")
    outcome = setting.owner.result("record:delete", ids=["poster/one"])[0]
    findings.expect(code(outcome) is None, f"the owner's delete is answered with {code(outcome)}")
    kept = stranger.result("record:fetch", ids=["bookmark/one"], database_id="_private")[0]
    findings.expect(code(kept) is None, f"the private record is answered with {code(kept)}")


@attack("records-access-by-writer")
def access_by_writer(service, findings, setting):
    """A user with level write changes the access list."""
    stranger = Client(service).sign_up(f"writer{time.monotonic_ns()}")
    access = [{"user_id": stranger.user_id, "level": "write"}]
    setting.owner.save({"_id": "note/shared", "_access": access})
    opened = [{"public": True, "level": "read"}]
    outcome = stranger.result("record:save", records=[{"_id": "note/shared", "_access": opened}])[0]
    findings.expect(code(outcome) == 102, f"answered with {code(outcome)}")
    # The list as a writer sees it, who is not shown whom it names.
    outcome = stranger.result("record:save", records=[{"_id": "note/shared", "title": "Mine?", "_access": []}])[0]
    findings.expect(code(outcome) is None, f"the list as it was sent is answered with {code(outcome)}")
    stored = setting.owner.result("record:fetch", ids=["note/shared"])[0]
    findings.expect(stored.get("_access") == access, f"the list is {stored.get('_access')}")


@attack("records-statement-texts")
def statement_texts(service, findings, setting):
    """Private saves with a reference by callers with few and with many roles, in turns."""
    master = setting.master
    few = Client(service).sign_up(f"few{time.monotonic_ns()}")
    many = Client(service).sign_up(f"many{time.monotonic_ns()}")
    roles = [f"role{number}" for number in range(40)]
    master.result("role:assign", users=[many.user_id], roles=roles)
    setting.owner.save({"_id": "cat/seen"})
    for number, client in enumerate((few, many, few, many, many, few)):
        outcome = client.result("record:save", database_id="_private", records=[
            {"_id": f"leash/own{number}", "cat": {"$type": "ref", "$id": "cat/seen"}}])[0]
        findings.expect(code(outcome) is None, f"save {number} is answered with {code(outcome)}")


@attack("records-by-predicate")
def by_predicate(service, findings, setting):
    """A stranger looks for hidden records with changes by a predicate, and asks for 10,000 of them at once."""
    def path(name):
        return {"$type": "keypath", "$val": name}
    stranger = Client(service).sign_up(f"many{time.monotonic_ns()}")
    setting.owner.save({"_id": "vault/hidden", "secret": 7, "_access": []}, {"_id": "vault/seen", "secret": 8})
    question = {"record_type": "vault", "set": {"secret": 0}, "at_most": 5}
    for secret, expected in ((7, {"no_permission": [], "count": 0}), (8, {"no_permission": ["vault/seen"], "count": 1})):
        answer = stranger.result("record:update", predicate=["eq", path("secret"), secret], **question)
        findings.expect(all(answer[key] == value for key, value in expected.items()), f"{secret} is answered with {answer}")
        gone = stranger.result("record:delete", record_type="vault", predicate=["eq", path("secret"), secret], at_most=5)
        findings.expect(not gone["deleted"] and gone["count"] == expected["count"], f"deleted: {gone}")
    ids = ["vault/hidden", "vault/nowhere"]
    answer = stranger.result("record:update", record_type="vault", ids=ids, set={"secret": 0})
    findings.expect(answer["not_found"] == ids, f"ids are answered with {answer}")
    guarded = [{"_id": "vault/hidden", "_if": ["eq", path("secret"), secret], "secret": 0} for secret in (7, 8)]
    codes = [code(each) for each in stranger.result("record:save", records=guarded)]
    findings.expect(len(set(codes)) == 1, f"a condition on a hidden record is answered with {codes}")

    setting.owner.save({"_id": "heap/0", "n": 0})
    service.psql(
        "INSERT INTO app.heap (_id, _owner, _created_by, _updated_by, n) SELECT 'h' || i, "
        f"'{stranger.user_id}', '{stranger.user_id}', '{stranger.user_id}', i FROM generate_series(1, 10000) AS i")
    began = time.monotonic()
    change = {"n": {"$op": "inc", "$val": 1}}
    answer = stranger.result("record:update", record_type="heap", predicate=["gt", path("n"), 0], set=change, at_most=10_000)
    findings.figure("10,000 s", time.monotonic() - began)
    findings.expect(len(answer["updated"]) == 10_000, f"{len(answer['updated'])} records were updated")
    long = stranger.call("record:update", record_type="heap", predicate=["gt", path("n"), 0],
                         set={"text": "x" * 500_000}, at_most=10_000)
    findings.expect(code(long) in (108, 114), f"10,000 texts of 0.5 MB are answered with {code(long)}")
