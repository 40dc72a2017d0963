"""What an attack is, and what has to hold after each."""

import statistics
import time
from dataclasses import dataclass, field

from client import Client
from service import MEGABYTE, Sampler, Service, until

ATTACKS: list["Attack"] = []

#: The address of the client that nothing may harm.
BYSTANDER = "127.0.0.9"


@dataclass
class Findings:
    """What an attack measured, and what did not hold."""

    figures: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def figure(self, name: str, value):
        self.figures[name] = f"{value:.3g}" if isinstance(value, float) else str(value)

    def expect(self, holds: bool, otherwise: str):
        if not holds:
            self.faults.append(otherwise)


@dataclass
class Attack:
    """One attack: `body` gets the service and the findings. `point` is its place in Documentation/Security.md."""

    name: str
    about: str
    body: object
    #: The most resident memory while it runs, in bytes; None where the attack is not about memory.
    memory: int | None = None
    #: Whether it needs a service of its own, which it starts and ends itself.
    is_alone: bool = False


def attack(name: str, memory: int | None = None, is_alone: bool = False):
    """Registers a function as an attack; its docstring says what it does."""
    def register(body):
        ATTACKS.append(Attack(name, (body.__doc__ or "").strip().splitlines()[0], body, memory, is_alone))
        return body
    return register


def run(attack: Attack, service: Service, setting) -> Findings:
    """Runs an attack, then looks at the service as another client and the operator see it."""
    findings = Findings()
    pid = service.process.pid
    with Sampler(service) as sampler:
        try:
            attack.body(service, findings, setting)
        except Exception as error:
            findings.faults.append(f"{type(error).__name__}: {error}")
    findings.figure("peak MB", round(sampler.peak / MEGABYTE))
    if attack.memory is not None:
        findings.expect(
            sampler.peak < attack.memory,
            f"resident memory rose to {sampler.peak // MEGABYTE} MB, above {attack.memory // MEGABYTE} MB")
    if not service.is_running or service.process.pid != pid:
        findings.faults.append(f"the service ended:\n{service.log_tail()}")
        return findings
    findings.expect(
        (median := bystander_median(service)) < 0.1,
        f"another client's fetch takes {median * 1000:.0f} ms at the median, above 100 ms")
    findings.figure("fetch ms", round(median * 1000, 1))
    try:
        until(30, "resident memory below 100 MB", lambda: service.resident < 100 * MEGABYTE)
    except TimeoutError:
        findings.faults.append(f"resident memory stays at {service.resident // MEGABYTE} MB, above 100 MB")
    findings.figure("rests MB", round(service.resident / MEGABYTE))
    return findings


def bystander_median(service: Service, count: int = 25) -> float:
    """The median time of another client's fetches, a new connection first."""
    times = []
    client = Client(service, BYSTANDER, timeout=20)
    try:
        for _ in range(count):
            began = time.monotonic()
            try:
                fetched = client.result("record:fetch", ids=["note/seed"])
                times.append(time.monotonic() - began if fetched[0]["_type"] == "record" else float("inf"))
            except Exception:
                times.append(float("inf"))
    finally:
        client.close()
    return statistics.median(times)


class Bystander:
    """Another client that fetches while an attack runs."""

    def __init__(self, service: Service):
        self.service = service
        self.times: list[float] = []

    def look(self, count: int = 5) -> float:
        """The median of some fetches made now."""
        median = bystander_median(self.service, count)
        self.times.append(median)
        return median
