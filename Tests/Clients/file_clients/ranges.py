"""Ranges of a file, compared with those that nginx sends of the same file."""

import http.client
import random
import shutil
import socket
import subprocess
from urllib.parse import urlsplit

from service import until

from .setting import PATIENCE, Setting, expect, noise

SIZE = 10_007

#: Ranges that are written by hand; those that are drawn follow.
ALIKE = [
    "bytes=0-0", "bytes=0-", "bytes=-1", "bytes=0-99", "bytes=100-199", "bytes=00000-00009",
    f"bytes={SIZE - 1}-", f"bytes={SIZE - 1}-{SIZE - 1}", f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 5}",
    f"bytes=0-{SIZE}", f"bytes=0-{SIZE - 1}", f"bytes=-{SIZE}", f"bytes=-{SIZE + 1}", "bytes=-0",
    "bytes= 1-2", "bytes=1-2 ", "Bytes=1-2", "bytes =1-2", "bytes=", "bytes", "items=0-9", "",
    "bytes=9223372036854775807-", "bytes=0-9223372036854775807", "bytes=-9223372036854775807",
    "bytes=99999999999999999999-",
]

WHOLE = (200, None)

#: Where the service differs from nginx on purpose: why, and the status and range that it has.
DIFFERENT = [
    ("nginx sends a part for each of several ranges", WHOLE,
     ["bytes=0-0,5-6", "bytes=0-5,3-9", "bytes=0-1,20000-", "bytes=20000-,30000-"]),
    ("nginx refuses what is no range; it is ignored here (RFC 9110, 14.2 permits both)", WHOLE,
     ["bytes=5-2", "bytes=-", "bytes=a-b", "bytes=1-b", "bytes=1", "bytes=1-2-3", "bytes=0x1-2", "bytes=+1-2",
      "bytes=1.0-2"]),
    ("nginx accepts spaces inside of a range", WHOLE, ["bytes=1 - 2"]),
    ("nginx refuses numbers of more than 63 bits", (206, f"bytes 0-{SIZE - 1}/{SIZE}"),
     ["bytes=0-99999999999999999999", "bytes=-99999999999999999999", "bytes=0-9223372036854775808"]),
    ("nginx refuses a list with an empty member, which RFC 9110, 5.6.1.2 has recipients ignore",
     (206, f"bytes 0-0/{SIZE}"),
     ["bytes=0-0,", "bytes=,0-0"]),
]


class Nginx:
    """nginx with one directory of files."""

    def __init__(self, setting: Setting):
        self.folder = setting.directory / "nginx"
        self.root = self.folder / "files"
        self.root.mkdir(parents=True)
        # Its worker may be another user.
        for directory in (setting.directory, self.folder, self.root):
            directory.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        places = "\n".join(f"{kind}_temp_path {self.folder}/{kind};"
                           for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        configuration = self.folder / "nginx.conf"
        configuration.write_text(f"""
            daemon off; master_process off; pid {self.folder}/pid; error_log {self.folder}/log;
            events {{}}
            http {{
                access_log off; {places}
                server {{ listen 127.0.0.1:{self.port}; root {self.root}; }}
            }}
            """)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-p", str(self.folder), "-c", str(configuration)],
                                        stderr=subprocess.DEVNULL)
        until(PATIENCE, "nginx", self._listens)

    def _listens(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)


class Connection:
    """Requests for one file, over one connection."""

    def __init__(self, port: int, path: str):
        self.path = path
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def get(self, range: str, method: str = "GET"):
        """The status, the range and the bytes of the response; without the bytes of a page with an error."""
        self.connection.request(method, self.path, headers={"Range": range})
        response = self.connection.getresponse()
        body = response.read()
        return response.status, response.headers["Content-Range"], body if response.status in (200, 206) else None


def drawn(draw: random.Random) -> str:
    """A range of any form, most of them near the ends of the file; none ends before it begins, which is no range."""
    def number() -> int:
        near = draw.choice([0, 1, SIZE // 2, SIZE - 1, SIZE, SIZE + 1, 1 << 31, 1 << 32])
        return draw.choice([draw.randrange(SIZE), max(0, near + draw.randint(-2, 2))])

    first, last = sorted([number(), number()])
    return "bytes=" + draw.choice([f"{first}-{last}", f"{first}-", f"-{last}"])


def run(setting: Setting, count: int = 1000, seed: int = 1):
    draw = random.Random(seed)
    content = noise(SIZE)
    asset = setting.upload(content, "ranges.bin", "application/octet-stream")
    address = urlsplit(asset["$url"])
    with Nginx(setting) as nginx:
        (nginx.root / "ranges.bin").write_bytes(content)
        ours = Connection(setting.service.port, f"{address.path}?{address.query}")
        theirs = Connection(nginx.port, "/ranges.bin")
        for range in ALIKE + [drawn(draw) for _ in [None] * count]:
            expect(f"the range {range!r}", ours.get(range), theirs.get(range))
        for why, expected, ranges in DIFFERENT:
            for range in ranges:
                status, part, body = ours.get(range)
                expect(f"the range {range!r}", (status, part), expected)
                assert theirs.get(range) != (status, part, body), f"{range!r} is alike: {why}"
        # Only GET has ranges (RFC 9110, 14.2); nginx sends 206 here, too.
        expect("HEAD with a range", ours.get("bytes=0-9", "HEAD")[:2], WHOLE)
