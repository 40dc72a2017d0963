"""Examples/functions: the rules of a game in JavaScript, SQL and Python."""

import shutil
from pathlib import Path

from service import until
from setting import NODE_SERVER, PATIENCE, REPOSITORY, FunctionService, Refusal, Stub, expect, refusal

EXAMPLES = REPOSITORY / "Examples/functions"
FIELDS = {"score": {"fields": [
    {"name": "player", "type": "string"}, {"name": "points", "type": "integer"}, {"name": "level", "type": "string"}]}}


def run(binary: Path):
    check_example(binary, "javascript", ["node", str(NODE_SERVER), "{address}", "app.mjs"])
    check_sql(binary)


def run_skygear(binary: Path):
    check_example(binary, "python", ["py-skygear", "--http", "--http-addr", "{address}", "app.py"])


def rates(path: str, _head, _body) -> tuple:
    """Another service, which knows the rate of one currency."""
    return (200, {"rate": 0.5}) if path == "/rates/EUR" else (404, {})


def check_example(binary: Path, language: str, command: list[str]):
    with Stub(rates) as stub, FunctionService(binary) as service:
        shutil.copytree(EXAMPLES / language, service.functions, dirs_exist_ok=True)
        service.configure(main={"command": command, "environment": {"RATES_URL": stub.url}})
        service.start()
        service.call("schema:create", {"record_types": FIELDS}, master=True)
        service.await_ready()
        ann = service.sign_up("ann")
        check_scores(service, ann["access_token"])
        expect("a price", service.function("price", {"currency": "EUR"}, ann["access_token"]), {
            "amount": 2.5, "currency": "EUR"})
        unknown = refusal(lambda: service.function("price", {"currency": "XXX"}, ann["access_token"]))
        expect("an unknown price", (unknown.code, unknown.info), (20003, {"arguments": ["currency"]}))
        if language == "javascript":
            check_login(service, ann["user_id"])
            malformed = refusal(lambda: service.function("price", {"currency": "euro"}, ann["access_token"]))
            expect("a malformed currency", (malformed.code, malformed.info), (108, {"arguments": ["currency"]}))


def check_sql(binary: Path):
    with FunctionService(binary) as service:
        service.start()
        service.call("schema:create", {"record_types": FIELDS}, master=True)
        service.psql((EXAMPLES / "sql/functions.sql").read_text())
        until(PATIENCE, "the function", lambda: answers(service))
        check_scores(service, service.sign_up("ann")["access_token"])


def answers(service: FunctionService) -> bool:
    try:
        return service.function("leaderboard") == []
    except Refusal:
        return False


def check_scores(service: FunctionService, token: str):
    points = {"ann": 900, "bob": 20_000, "carl": 1500}
    scores = [{"_id": f"score/{player}", "player": player, "points": each} for player, each in points.items()]
    saved = service.save(*scores, token=token)
    expect("levels", [record["level"] for record in saved], ["bronze", "gold", "silver"])
    [refused] = service.save({"_id": "score/dora", "player": "dora", "points": 1_000_001}, token=token)
    expect("too many points", (refused["code"], refused["info"]), (20001, {"arguments": ["points"]}))
    best = [{"player": "bob", "points": 20_000}, {"player": "carl", "points": 1500}, {"player": "ann", "points": 900}]
    expect("the best", service.function("leaderboard"), best)
    expect("the best two", service.function("leaderboard", {"places": 2}), best[:2])


def check_login(service: FunctionService, ann: str):
    account = {"auth_data": {"username": "ann"}, "password": "correct horse"}
    expect("a login", service.call("auth:login", account)["user_id"], ann)
    service.save({"_id": f"user/{ann}", "banned": True}, master=True)
    expect("a login of a banned player", refusal(lambda: service.call("auth:login", account)).code, 20002)
    service.save({"_id": f"user/{ann}", "banned": False}, master=True)
    expect("a login afterwards", service.call("auth:login", account)["user_id"], ann)
