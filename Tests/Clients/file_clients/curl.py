"""What curl does with files."""

import base64
import hashlib
import json
import subprocess
from pathlib import Path

from .setting import MEGABYTE, PATIENCE, Setting, expect, noise


class Outcome:
    """What curl printed, and what it says about the request."""

    def __init__(self, words: list[str]):
        report = "%{stderr}\\n%{json}\\n"
        command = ["curl", "--silent", "--verbose", "--max-time", str(PATIENCE), "--write-out", report, *words]
        result = subprocess.run(command, capture_output=True, timeout=2 * PATIENCE)
        self.output = result.stdout
        # The lines before it are the heads, of which those from the service begin with "< ".
        *self.lines, report = result.stderr.decode(errors="replace").splitlines()
        report = json.loads(report)
        self.exit = result.returncode
        self.status = report["http_code"]
        self.sent = report["size_upload"]

    @property
    def has_continued(self) -> bool:
        return any(line.startswith("< HTTP/1.1 100") for line in self.lines)

    @property
    def json(self) -> dict:
        return json.loads(self.output)

    @property
    def code(self) -> int:
        return self.json["error"]["code"]


def run(setting: Setting):
    address = f"{setting.base}/files"
    token = ["--header", f"Authorization: Bearer {setting.ann}"]
    content = noise(3 * MEGABYTE)
    path = setting.file("film.bin", content)

    def post(file: Path, *words: str) -> Outcome:
        return Outcome([*token, "--header", "Content-Type: application/x-film", "--data-binary", f"@{file}", *words,
                        f"{address}?filename=film.bin"])

    def md5(bytes: bytes) -> list[str]:
        return ["--header", f"Content-MD5: {base64.b64encode(hashlib.md5(bytes).digest()).decode()}"]

    expecting = ["--header", "Expect: 100-continue"]
    sent = post(path, *expecting, *md5(content))
    expect("an upload that waits for 100 Continue", (sent.status, sent.has_continued), (201, True))
    asset = sent.json["result"]
    expect("its size", asset["$size"], len(content))

    # What is refused leaves no file.
    before = setting.stored()
    wrong = post(path, *md5(b"something else"))
    expect("a wrong Content-MD5", (wrong.status, wrong.code), (400, 108))
    large = setting.directory / "large"
    with large.open("wb") as file:
        file.truncate(setting.maximum + 1)
    # --data-binary would read it as a whole.
    for words in [[*token, "--upload-file", large, f"{address}/large.bin"],
                  [*token, "--request", "POST", "--upload-file", large, f"{address}?filename=large.bin"]]:
        refused = Outcome([*map(str, words), *expecting])
        expect("a file that is too large", (refused.status, refused.code), (413, 129))
        expect("what was sent of it", (refused.sent, refused.has_continued), (0, False))
    stranger = Outcome(["--upload-file", str(path), f"{address}/film.bin", *expecting])
    expect("an upload without a user", (stranger.status, stranger.sent), (401, 0))
    expect("the number of files", setting.stored(), before)

    # As a whole, in parts, and only if it is another one.
    expect("a download", Outcome([asset["$url"]]).output, content)
    for range, expected in [("10-19", content[10:20]), ("-5", content[-5:]), ("3000000-", content[3000000:])]:
        part = Outcome(["--range", range, asset["$url"]])
        expect(f"the range {range}", (part.status, part.output), (206, expected))
    partial = setting.file("partial.bin", content[:1_000_001])
    rest = Outcome(["--continue-at", "-", "--output", str(partial), asset["$url"]])
    expect("a continued download", (rest.status, rest.exit), (206, 0))
    expect("its file", partial.read_bytes(), content)
    complete = Outcome(["--continue-at", "-", "--output", str(partial), asset["$url"]])
    expect("a download with nothing left", complete.status, 416)
    expect("its file", partial.read_bytes(), content)
    tag = setting.directory / "tag"
    Outcome(["--etag-save", str(tag), asset["$url"]])
    expect("a known file", Outcome(["--etag-compare", str(tag), asset["$url"]]).status, 304)
    head = Outcome(["--head", asset["$url"]])
    expect("HEAD", head.status, 200)
    assert f"content-length: {len(content)}" in head.output.decode().lower(), head.output

    # A body of unknown length, and a form.
    chunked = ["--header", "Transfer-Encoding: chunked"]
    piped = Outcome([*token, *chunked, "--upload-file", str(path), f"{address}/film.bin"])
    expect("a body of unknown length", piped.status, 200)
    expect("its file", Outcome([piped.json["result"]["$url"]]).output, content)
    announced = setting.call("asset:put", {
        "filename": "film.bin", "content-type": "application/x-film", "content-size": len(content)}, setting.ann)
    form = Outcome(["--form", f"file=@{path};type=application/x-film",
                    setting.base + announced["post-request"]["action"]])
    expect("a form", form.status, 200)
    expect("its file", Outcome([form.json["result"]["$url"]]).output, content)
