"""A release build of the service with its embedded PostgreSQL, as an operator would start it."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

MEGABYTE = 1 << 20


class Service:
    """One running service in a temporary directory. Everything but port, directory and TLS has its default."""

    def __init__(self, binary: Path, *arguments: str, development: bool = True):
        self.binary = binary
        self.directory = Path(tempfile.mkdtemp(prefix="skyrow-attack-"))
        # PostgreSQL runs as another user when the attack runs as root.
        self.directory.chmod(0o755)
        self.data = self.directory / "data"
        self.log = self.directory / "service.log"
        self.arguments = [str(binary), "serve", "--host", "127.0.0.1", "--port", "0",
                          "--data-directory", str(self.data), *arguments]
        if development:
            self.arguments.append("--development")
        self.process = None
        self.port = 0

    def start(self) -> "Service":
        self.process = subprocess.Popen(
            self.arguments, stdout=subprocess.PIPE, stderr=self.log.open("ab"), text=True, cwd=self.directory)
        try:
            self._read_announcement()
        except BaseException:
            self.process.kill()
            raise
        return self

    def _read_announcement(self):
        first = within(60, "the service's first line", self.process.stdout.readline)
        match = re.search(r":(\d+)\s*$", first)
        if not match:
            raise RuntimeError(f"The service did not start: {first!r}\n{self.log_tail()}")
        self.port = int(match.group(1))
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        until(10, "the file of keys", (self.data / "keys").exists)
        keys = dict(re.findall(r"^(?:export )?(\w+)='?([^'\n]+)'?$", (self.data / "keys").read_text(), re.M))
        self.api_key = keys["SKYROW_API_KEY"]
        self.master_key = keys["SKYROW_MASTER_KEY"]

    def stop(self, timeout: float = 60) -> float:
        """Ends the service as an operator does; returns the seconds it took."""
        began = time.monotonic()
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise RuntimeError(f"SIGTERM did not end the service within {timeout:.0f} s") from None
        return time.monotonic() - began

    def remove(self):
        """Ends the service and all that it started, and removes its directory."""
        try:
            processes = self.postgres_processes()
        except (OSError, StopIteration, ValueError):
            processes = []
        try:
            self.stop()
        finally:
            # A backend inside one long call survives its postmaster.
            for pid in processes:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def resident(self) -> int:
        """Bytes of resident memory of the service, without PostgreSQL."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def log_tail(self, lines: int = 12) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    # PostgreSQL

    def psql(self, sql: str) -> str:
        """Runs SQL as the operator does; returns bare values."""
        result = subprocess.run(
            [*self._psql, "--no-align", "--tuples-only", "--quiet", "--set", "ON_ERROR_STOP=1", "--command", sql],
            capture_output=True, text=True, timeout=120, cwd=self.directory)
        if result.returncode != 0:
            raise RuntimeError(f"psql: {result.stderr.strip()}")
        return result.stdout.strip()

    def session(self) -> "PsqlSession":
        """A psql that stays open, to hold locks."""
        return PsqlSession([*self._psql, "--no-align", "--tuples-only", "--quiet"], self.directory)

    @property
    def _psql(self) -> list[str]:
        return [str(self.binary), "psql", "--data-directory", str(self.data), "--no-psqlrc"]

    @property
    def postmaster(self) -> int:
        found = next(self.data.rglob("postmaster.pid"))
        return int(found.read_text().splitlines()[0])

    def postgres_processes(self) -> list[int]:
        """The postmaster and its children."""
        postmaster = self.postmaster
        with open(f"/proc/{postmaster}/task/{postmaster}/children") as file:
            return [postmaster, *map(int, file.read().split())]


class PsqlSession:
    def __init__(self, command: list[str], directory: Path):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=directory)

    def run(self, sql: str):
        """Runs SQL and returns when it is done."""
        self.process.stdin.write(f"{sql}\n\\echo done\n")
        self.process.stdin.flush()

        def read():
            while (line := self.process.stdout.readline()) and line.strip() != "done":
                pass
        within(30, f"psql to run {sql}", read)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Sampler:
    """Watches a service's resident memory while an attack runs."""

    def __init__(self, service: Service, interval: float = 0.02):
        self.service = service
        self.interval = interval
        self.peak = service.resident
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._stop.wait(self.interval):
            try:
                self.peak = max(self.peak, self.service.resident)
            except (OSError, IndexError):
                return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def within(seconds: float, what: str, body):
    """Runs a call that blocks; raises when it is not done in time, saying what it waited for."""
    box = {}

    def run():
        try:
            box["value"] = body()
        except BaseException as error:  # handed to the caller
            box["error"] = error
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"waited {seconds:.0f} s for {what}")
    if "error" in box:
        raise box["error"]
    return box.get("value")


def until(seconds: float, what: str, condition, interval: float = 0.05):
    """Waits for a condition; raises after the deadline, saying what it waited for."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(interval)
    return value
