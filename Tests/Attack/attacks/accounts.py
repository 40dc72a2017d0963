"""Attacks on passwords, sessions and what accounts show of each other."""

import threading
import time

from attack import Bystander, attack
from client import Client, Load, address, code


def attempt(name: str):
    def log_in(client):
        return code(client.call("auth:login", auth_data={"username": name}, password="not the password"))
    return log_in


@attack("accounts-password-queue")
def password_queue(service, findings, setting):
    """Four addresses log in with wrong passwords without a pause; another client logs in meanwhile."""
    Client(service, "127.0.0.7").sign_up("patient")
    clients = [Client(service, address(number % 4)) for number in range(32)]
    with Load(clients, attempt("nobody-here")):
        time.sleep(2)
        times = []
        for _ in range(3):
            began = time.monotonic()
            response = Client(service, "127.0.0.7").call(
                "auth:login", auth_data={"username": "patient"}, password="correct horse battery")
            times.append(time.monotonic() - began)
            findings.expect(code(response) is None, f"a login of another client failed with {code(response)}")
    findings.figure("login s", max(times))
    findings.expect(max(times) < 5, f"logins of another client took {times} s")


@attack("accounts-logins-and-fetches")
def logins_and_fetches(service, findings, setting):
    """A hundred logins at once, of a hundred addresses, without a pause; another client fetches records meanwhile."""
    bystander = Bystander(service)
    before = bystander.look(100)
    with Load([Client(service, address(number)) for number in range(100)], attempt("nobody-there")):
        time.sleep(2)
        during = bystander.look(100)
    findings.figure("fetch before ms", before * 1000)
    findings.figure("fetch during ms", during * 1000)
    # A budget of 3 ms, and what the threads of a hundred clients on the same machine take.
    findings.expect(during - before < 0.01, f"a fetch takes {(during - before) * 1000:.1f} ms more beside logins")


@attack("accounts-sign-ups")
def sign_ups(service, findings, setting):
    """Forty addresses sign up without a pause; logins go on."""
    Client(service, "127.0.0.7").sign_up("patient2")
    counter = iter(range(10**9))
    lock = threading.Lock()

    def sign_up(client):
        with lock:
            number = next(counter)
        return code(client.call("auth:signup", auth_data={"username": f"crowd{number}"}, password="long enough 8"))
    with Load([Client(service, address(number)) for number in range(40)], sign_up):
        time.sleep(2)
        began = time.monotonic()
        response = Client(service, "127.0.0.7").call(
            "auth:login", auth_data={"username": "patient2"}, password="correct horse battery")
        took = time.monotonic() - began
    findings.figure("login s", took)
    findings.expect(code(response) is None, f"the login failed with {code(response)}")
    findings.expect(took < 8, f"a login beside sign-ups took {took:.1f} s")


@attack("accounts-token-revival")
def token_revival(service, findings, setting):
    """Four threads use a token while its account's password changes; it ends and stays ended."""
    password = "correct horse battery"
    user = Client(service, "127.0.0.7").sign_up("careful", password)
    for number in range(4):
        token = user.token
        with Load([Client(service, "127.0.0.7", token) for _ in range(4)], lambda client: code(client.call("me"))):
            time.sleep(0.2)
            result = user.result("auth:password", old_password=password, password=f"{password} {number}")
            time.sleep(0.3)
        password = f"{password} {number}"
        after = code(Client(service, "127.0.0.7", token).call("me"))
        findings.expect(after == 104, f"the old token is answered with {after} after the change of the password")
        user = user.with_token(result["access_token"])


@attack("accounts-hostile-profile")
def hostile_profile(service, findings, setting):
    """A sign-up names profile fields like the columns of the accounts' own table; logins go on."""
    for number, field in enumerate(("disabled", "disabled_until", "disabled_message", "password_hash",
                                    "token_valid_since", "id", "user_id", "created_at")):
        Client(service).call("auth:signup", auth_data={"username": f"hostile{number}"},
                             password="correct horse battery", profile={field: "x"})
    response = Client(service).call("auth:login", auth_data={"username": "owner"}, password="correct horse battery")
    findings.expect(code(response) is None, f"a login is answered with {code(response)}")


@attack("accounts-mail-addresses")
def mail_addresses(service, findings, setting):
    """An anonymous account asks for everyone's mail address."""
    client = Client(service)
    client.result("auth:signup", auth_data={"email": "secret@example.com"}, password="correct horse battery")
    guest = client.with_token(client.result("auth:signup")["access_token"])
    for query in ({}, {"desired_keys": ["email"]},
                  {"sort": [[{"$type": "keypath", "$val": "email"}, "asc"]]},
                  {"predicate": ["like", {"$type": "keypath", "$val": "email"}, "secret%"], "count": True}):
        response = str(guest.call("record:query", record_type="user", **query))
        findings.expect("secret@example.com" not in response, f"{query} shows the address")
        findings.expect("'count': 1" not in response, f"{query} counts the address")


@attack("accounts-lookalikes")
def lookalikes(service, findings, setting):
    """Names that look like one that is taken are taken, and a new one has nothing invisible at its end."""
    client = Client(service)
    client.sign_up("zoe")
    names = {"ZOE": 109, "zo\u200be": 109, "\uff5aoe": 109, "zoe\u00ad": 108, "zoe\ufeff": 108, "zoe ": 108}
    for name, expected in names.items():
        response = client.call("auth:signup", auth_data={"username": name}, password="correct horse battery")
        findings.expect(code(response) == expected, f"{name!r} is answered with {code(response)}")
    response = client.call("auth:signup", auth_data={"username": "short"}, password="1234567")
    findings.expect(code(response) == 126, f"a password of 7 characters is answered with {code(response)}")
