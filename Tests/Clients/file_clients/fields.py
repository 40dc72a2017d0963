"""Files in fields of records, by their address, and pictures in other sizes."""

import struct

import requests

from .setting import PATIENCE, Setting, bearer, code, expect, noise, png


def run(setting: Setting):
    """QuickBlox's way: a file is sent to a field, and read from it."""
    setting.call("record:save", {"records": [{"_id": "album/1", "title": "Cats"}]}, setting.ann)
    address = f"{setting.base}/files/records/album/1/cover"

    def send(method: str, token: str | None, content: bytes | None = None, **headers: str) -> requests.Response:
        credentials = bearer(token) if token else {"X-Skygear-API-Key": setting.service.api_key}
        return requests.request(method, address, data=content, headers=credentials | headers, timeout=PATIENCE)

    first, second = noise(70_000), noise(50_000, seed=2)
    kind = {"Content-Type": "application/x-cat"}
    expect("the field before", send("GET", setting.ann).status_code, 404)
    created = send("PUT", setting.ann, first, **kind)
    expect("PUT into an empty field", created.status_code, 201)
    replaced = send("PUT", setting.ann, second, **kind)
    expect("PUT into a full field", replaced.status_code, 200)
    assert created.json()["result"]["$name"] != replaced.json()["result"]["$name"]
    record = setting.call("record:fetch", {"ids": ["album/1"]}, setting.bob)[0]
    expect("the field of the record", record["cover"]["$name"], replaced.json()["result"]["$name"])
    expect("its other field", record["title"], "Cats")
    for who, token in [("the owner", setting.ann), ("another user", setting.bob), ("a caller without a user", None)]:
        read = send("GET", token)
        expect(f"GET by {who}", (read.status_code, read.content), (200, second))
    part = send("GET", setting.bob, Range="bytes=10-19")
    expect("a part", (part.status_code, part.content), (206, second[10:20]))

    # Who may not save the record may not send a file to it.
    before = setting.stored()
    refused = send("PUT", setting.bob, first, **kind)
    expect("PUT by another user", (refused.status_code, code(refused)), (403, 102))
    expect("DELETE by another user", send("DELETE", setting.bob).status_code, 403)
    expect("the number of files", setting.stored(), before)
    expect("DELETE", send("DELETE", setting.ann).status_code, 204)
    expect("the field after it", send("GET", setting.ann).status_code, 404)


def run_thumbnails(setting: Setting):
    """Pictures in the sizes of `thumbnail-sizes`, which are PNG where the picture is."""
    picture = setting.upload(png(800, 600), "cat.png", "image/png")["$url"]
    for size, expected in [("100x100", (100, 100)), ("400x400f", (400, 300))]:
        for attempt in ("first", "kept"):
            made = requests.get(f"{picture}&thumb={size}", timeout=PATIENCE)
            expect(f"the {attempt} thumbnail {size}", made.status_code, 200)
            expect("its type", made.headers["Content-Type"], "image/png")
            expect("its size", struct.unpack(">II", made.content[16:24]), expected)
    other = requests.get(f"{picture}&thumb=7x7", timeout=PATIENCE)
    expect("another size", (other.status_code, code(other)), (400, 108))
    text = setting.upload(b"no picture", "a.txt", "text/plain")["$url"]
    expect("of a text", requests.get(f"{text}&thumb=100x100", timeout=PATIENCE).status_code // 100, 4)
