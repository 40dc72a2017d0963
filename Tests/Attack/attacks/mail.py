"""Attacks on the codes that mails bring, on the mails themselves and on the pages of their links."""

import email
import re
import statistics
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from email import policy

from attack import attack
from client import Client, address, code, in_parallel
from service import Service, until


@contextmanager
def mailing(service, *arguments):
    """A service that writes its mails into files, and the function that reads them."""
    folder = service.directory / f"mail-{time.monotonic_ns()}"
    own = Service(service.binary, "--mail", f"file:{folder}", "--mail-from", "Notes <no-reply@example.org>",
                  "--public-url", "https://api.example.org", *arguments).start()

    def mails() -> list[email.message.EmailMessage]:
        return [email.message_from_bytes(path.read_bytes(), policy=policy.default)
                for path in sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)]
    try:
        yield own, mails
    finally:
        own.remove()


def text(mail) -> str:
    return mail.get_body(("plain",)).get_content()


def link(mail) -> str:
    return re.search(r"\?code=([\w-]+)", text(mail)).group(1)


def digits(mail) -> str:
    return re.search(r"^(\d{6})\s*$", text(mail), re.M).group(1)


def next_mail(mails, count: int):
    until(30, f"mail {count}", lambda: len(mails()) >= count)
    return mails()[count - 1]


def sign_up(service, name: str) -> Client:
    """An account with an address."""
    client = Client(service, "127.0.0.7")
    result = client.result("auth:signup", auth_data={"username": name, "email": f"{name}@example.org"},
                           password="correct horse battery")
    return client.with_token(result["access_token"])


@attack("mail-codes", is_alone=True)
def codes(service, findings, setting):
    """Digits are guessed from 200 addresses at once, and one code is sent 20 times at once."""
    with mailing(service) as (own, mails):
        sign_up(own, "ann")
        ticket = Client(own, "127.0.0.6").result("auth:reset:request", email="ann@example.org")
        mail = next_mail(mails, 1)
        right = digits(mail)
        wrong = [f"{number:06}" for number in range(200) if f"{number:06}" != right]

        def confirm(index, **what):
            return code(Client(own, address(index)).call("auth:reset:confirm", password=f"a new secret {index}", **what))
        found = in_parallel(40, lambda index: [
            confirm(index * 5 + number, code=guess, handle=ticket["handle"])
            for number, guess in enumerate(wrong[index * 5:index * 5 + 5])])
        found = [result for results in found for result in (results if isinstance(results, list) else [results])]
        findings.expect(all(result in (131, 134, 135) for result in found), f"guesses are answered with {set(map(str, found))}")
        attempts = own.psql("SELECT attempts FROM app_internal._code")
        findings.expect(attempts == "5", f"{attempts} guesses were compared")
        after = confirm(300, code=right, handle=ticket["handle"])
        findings.expect(after in (131, 134), f"the right digits after them are answered with {after}")
        used = in_parallel(20, lambda index: confirm(400 + index, code=link(mail)))
        findings.expect(used.count(None) == 1, f"a link counted {used.count(None)} times: {set(map(str, used))}")
        sessions = own.psql("SELECT count(*) FROM app_internal._session")
        findings.expect(sessions == "1", f"there are {sessions} sessions")


@attack("mail-flood", is_alone=True)
def flood(service, findings, setting):
    """500 requests for codes of one address at once, and for addresses with header fields in them."""
    with mailing(service) as (own, mails):
        sign_up(own, "ann")
        forms = ["ann@example.org", "ANN@example.org", "Ann@Example.Org", "ann@EXAMPLE.ORG"]
        found = in_parallel(50, lambda index: [
            code(Client(own, address(index * 10 + number)).call("auth:reset:request", email=forms[number % 4]))
            for number in range(10)])
        found = {result for results in found for result in (results if isinstance(results, list) else [results])}
        findings.expect(found <= {None, 135}, f"requests are answered with {set(map(str, found))}")
        for index, hostile in enumerate(("ann@example.org\r\nBcc: eve@example.org", "ann@example.org, eve@example.org",
                                         "<ann@example.org> eve@example.org", "ann@example.org\n\nBuy now")):
            client = Client(own, address(600 + index))
            client.call("auth:signup", auth_data={"email": hostile}, password="correct horse battery")
            client.call("auth:reset:request", email=hostile)
        until(30, "an empty queue", lambda: own.psql("SELECT count(*) FROM app_internal._mail WHERE state = 'waiting'") == "0")
        to = [(mail["To"], mail["Bcc"], mail["Cc"]) for mail in mails()]
        findings.figure("mails", len(to))
        findings.expect(to == [("ann@example.org", None, None)], f"mails went to {to}")


@attack("mail-pages", is_alone=True)
def pages(service, findings, setting):
    """Links are followed by programs, forms come from other sites, and codes hold HTML."""
    with mailing(service) as (own, mails):
        sign_up(own, "ann")
        Client(own, "127.0.0.6").result("auth:reset:request", email="ann@example.org")
        secret = link(next_mail(mails, 1))

        def page(path: str, fields: dict | None = None) -> tuple[int, str]:
            body = urllib.parse.urlencode(fields).encode() if fields is not None else None
            request = urllib.request.Request(f"http://127.0.0.1:{own.port}{path}", body,
                                             {"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    return response.status, response.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
        for _ in range(20):
            status, html = page(f"/auth/reset?code={secret}")
        findings.expect(status == 200 and secret in html, f"the page of the link is answered with {status}")
        findings.expect("evil.example" not in html, "the page names the host of the request")
        new = {"password": "a new secret", "repeat": "a new secret"}
        status, html = page("/auth/reset", {"code": secret, "form": "1.forged", **new})
        findings.expect(status == 400, f"a forged form is answered with {status}")
        for hostile in ("%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "%3Cimg+src=x%3E", "a%00b", "%0d%0aSet-Cookie:x=y"):
            status, html = page(f"/auth/reset?code={hostile}")
            findings.expect(status == 400 and "<script" not in html and "<img" not in html,
                            f"{hostile} is answered with {status}: {html[:200]}")
        count = own.psql("SELECT count(*) FROM app_internal._code WHERE used_at IS NOT NULL")
        findings.expect(count == "0", "a page that was only looked at has used the code")
        response = code(Client(own, "127.0.0.6").call("auth:reset:confirm", code=secret, password="a new secret"))
        findings.expect(response is None, f"the code is answered with {response} afterwards")
        log = own.log.read_text(errors="replace")
        findings.expect(secret not in log, "the log has the code")


@attack("mail-timing", is_alone=True)
def timing(service, findings, setting):
    """Times of requests for addresses and names of accounts are told from those of others; 500 pairs of each kind in turn."""
    with mailing(service, "--verification", "optional") as (own, _):
        own.psql("""
            INSERT INTO app."user" (_id, _owner, email)
                SELECT 'm' || n, 'm' || n, 'known' || n || '@example.org' FROM generate_series(0, 1199) AS n;
            INSERT INTO app_internal._user (id) SELECT 'm' || n FROM generate_series(0, 1199) AS n;
            ANALYZE;
            """)
        sign_up(own, "known")

        def ask(method: str, first: int):
            def call(client, name, number):
                client.result(method, email=f"{name}{first + number}@example.org")
            return call

        def log_in(client, name, number):
            client.call("auth:login", auth_data={"email": f"{name}@example.org"}, password=f"a wrong guess {number}")
        place = 0
        # The second requests for the same addresses are too many for a minute.
        for kind, pairs, call in (("reset", 500, ask("auth:reset:request", 0)), ("reset again", 500, ask("auth:reset:request", 0)),
                                  ("verify", 500, ask("auth:verify:request", 600)), ("login", 40, log_in)):
            times = {"known": [], "other": []}
            for number in range(-20 if kind != "login" else -2, pairs):
                # Twenty requests an hour are a network's, and five guesses.
                client = Client(own, address(place))
                place += number % (10 if kind != "login" else 2) == 0
                client.call("me")
                for name in ("known", "other") if number % 2 else ("other", "known"):
                    began = time.perf_counter()
                    call(client, name, number % 600)
                    if number >= 0:
                        times[name].append(time.perf_counter() - began)
                client.close()
            t = welch(trimmed(times["known"]), trimmed(times["other"]))
            findings.figure(f"{kind} us", round(statistics.fmean(trimmed(times["known"])) * 1e6))
            findings.figure(f"{kind} t", round(t, 1))
            findings.expect(abs(t) < 4.5, f"{kind}: what is known is found by its time: t is {t:.1f}")


def trimmed(times: list[float]) -> list[float]:
    """Without the slowest twentieth, which the machine's other work makes."""
    return sorted(times)[:len(times) * 19 // 20]


def welch(first: list[float], second: list[float]) -> float:
    """The t of Welch's test: how many standard errors the means are apart."""
    error = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return (statistics.fmean(first) - statistics.fmean(second)) / error ** 0.5
