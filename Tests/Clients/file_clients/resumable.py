"""Uploads of tuspy through connections that break, and through restarts of the service."""

import hashlib
import json
import signal

import requests
from tusclient.client import TusClient
from tusclient.exceptions import TusUploadFailed

from .proxy import CuttingProxy
from .setting import MEGABYTE, PATIENCE, Setting, bearer, digest, expect, noise

#: The bytes of the large upload, and after how many of them each connection is cut.
SIZE = 200 * MEGABYTE
CUT = 5 * MEGABYTE


class Restarts:
    """Ends the service at numbers of sent bytes, once by a signal that lets it finish and once by one that does not."""

    def __init__(self, setting: Setting):
        self.service = setting.service
        self.left = [(60 * MEGABYTE, signal.SIGTERM), (120 * MEGABYTE, signal.SIGKILL)]

    def __call__(self, sent: int):
        if not self.left or sent < self.left[0][0]:
            return
        _, kind = self.left.pop(0)
        self.service.process.send_signal(kind)
        self.service.process.wait(PATIENCE)
        self.service.start()


def asset_of(uploader) -> dict:
    """The value that the response to the last PATCH has."""
    return json.loads(uploader.request.response_headers["x-skyrow-asset"])


def run(setting: Setting):
    restarts = Restarts(setting)
    content = noise(SIZE)
    path = setting.file("large.bin", content)
    with CuttingProxy(lambda: setting.service.port, CUT, restarts) as proxy:
        client = TusClient(f"http://127.0.0.1:{proxy.port}/files/tus", headers=bearer(setting.ann))
        # A part is sent again from where it was cut, as often as needed, also while the service starts.
        uploader = client.uploader(str(path), chunk_size=16 * MEGABYTE, retries=900, retry_delay=0.1, metadata={
            "filename": "Kätz+chen.bin", "filetype": "application/x-film"})
        uploader.upload()
        assert proxy.cuts >= SIZE // CUT - 1, f"the connections were cut {proxy.cuts} times"
    expect("the restarts that did not happen", restarts.left, [])
    asset = asset_of(uploader)
    expect("the size of the file", asset["$size"], SIZE)
    expect("its type", asset["$content_type"], "application/x-film")

    received = hashlib.sha256()
    with requests.get(f"{setting.base}/files/{asset['$name']}", headers=bearer(setting.ann), timeout=PATIENCE,
                      stream=True) as response:
        expect("the status of the download", response.status_code, 200)
        assert "filename*=UTF-8''K%C3%A4tz+chen.bin" in response.headers["Content-Disposition"], response.headers
        for part in response.iter_content(MEGABYTE):
            received.update(part)
    expect("the checksum", received.hexdigest(), digest(content))

    send_with_checksums(setting)
    refuse_others(setting)


def send_with_checksums(setting: Setting):
    """Parts with a checksum, of which one is wrong and is sent again."""
    content = noise(3 * MEGABYTE, seed=2)
    client = TusClient(f"{setting.base}/files/tus", headers=bearer(setting.ann))
    uploader = client.uploader(str(setting.file("checked.bin", content)), chunk_size=MEGABYTE, upload_checksum=True,
                               metadata={"filename": "checked.bin"})
    uploader.upload(stop_at=MEGABYTE)
    wrong = requests.patch(uploader.url, data=b"x" * 1000, timeout=PATIENCE, headers=uploader.get_headers() | {
        "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(uploader.offset),
        "Upload-Checksum": "sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA="})
    expect("the status for a wrong checksum", wrong.status_code, 460)
    expect("the offset after it", uploader.get_offset(), MEGABYTE)
    uploader.upload()
    expect("the file", setting.download(asset_of(uploader)["$name"], setting.ann).content, content)


def refuse_others(setting: Setting):
    """What an upload refuses, and whom."""
    path = setting.file("refused.bin", noise(2000, seed=3))
    client = TusClient(f"{setting.base}/files/tus", headers=bearer(setting.ann))
    uploader = client.uploader(str(path), chunk_size=1000, metadata={"filename": "refused.bin"})
    uploader.upload(stop_at=1000)
    ours, theirs = uploader.get_headers(), bearer(setting.bob) | {"Tus-Resumable": "1.0.0"}
    expect("HEAD by another user", requests.head(uploader.url, headers=theirs, timeout=PATIENCE).status_code, 404)
    late = ours | {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "999"}
    expect("a wrong offset", requests.patch(uploader.url, data=b"x", headers=late, timeout=PATIENCE).status_code, 409)
    expect("DELETE by another user", requests.delete(uploader.url, headers=theirs, timeout=PATIENCE).status_code, 404)
    expect("DELETE", requests.delete(uploader.url, headers=ours, timeout=PATIENCE).status_code, 204)
    try:
        uploader.upload()
    except TusUploadFailed as error:
        assert error.status_code in (404, 410), error.status_code
    else:
        raise AssertionError("a deleted upload went on")
