"""The requests of Skygear's SDKs, as their JavaScript SDK v1.7.2 sends them."""

import requests

from .setting import PATIENCE, Setting, code, expect, noise

#: Name and type of the part with the file: of a `Buffer` in Node.js, and of a `Blob` without a type in a browser.
PARTS = [("Kätz+chen 1.gif", "image/gif"), ("blob", "application/octet-stream")]


def post(setting: Setting, action: str, parameters: dict, token: str) -> dict:
    """An action by its path, with key and token in both head and body."""
    key = setting.service.api_key
    headers = {"Accept": "application/json", "X-Skygear-API-Key": key, "X-Skygear-SDK-Version": "skygear-SDK-JS/1.7.2",
               "X-Skygear-Access-Token": token}
    body = {"access_token": token, "action": action, "api_key": key} | parameters
    response = requests.post(f"{setting.base}/{action.replace(':', '/')}", json=body, headers=headers, timeout=PATIENCE)
    expect(f"the status of {action}", response.status_code, 200)
    return response.json()["result"]


def send(setting: Setting, request: dict, part: tuple) -> requests.Response:
    """The form of a file: first the given fields, then the file. The SDK sends the key, and no token."""
    address = request["action"]
    if not address.startswith("http"):
        address = setting.base + address
    return requests.post(address, data=request["extra-fields"], files={"file": part}, timeout=PATIENCE,
                         headers={"X-Skygear-API-Key": setting.service.api_key})


def run(setting: Setting):
    for number, (name, kind) in enumerate(PARTS):
        content = b"GIF89a" + noise(100_000)
        announced = post(setting, "asset:put", {
            "filename": "Kätz+chen 1.gif", "content-type": "image/gif", "content-size": len(content)}, setting.ann)
        request, asset = announced["post-request"], announced["asset"]
        sent = send(setting, request, (name, content, kind))
        expect(f"the status of a form with {kind}", sent.status_code, 200)
        again = send(setting, request, (name, content, kind))
        expect("the refusal of a second file", (again.status_code, code(again)), (409, 109))

        # The value of a record has the address that the SDK knows.
        value = {"$type": "asset", "$name": asset["$name"], "$url": asset["$url"]}
        note = f"note/skygear-{number}"
        saved = post(setting, "record:save", {
            "database_id": "_public", "records": [{"_id": note, "_access": None, "picture": value}]}, setting.ann)
        expect("the saved file", saved[0]["picture"]["$name"], asset["$name"])

        query = {"database_id": "_public", "record_type": "note",
                 "predicate": ["eq", {"$type": "keypath", "$val": "_id"}, f"skygear-{number}"]}
        picture = post(setting, "record:query", query, setting.bob)[0]["picture"]
        whole = requests.get(picture["$url"], timeout=PATIENCE)
        expect("the file of $url", (whole.status_code, whole.content), (200, content))
        expect("its type", whole.headers["Content-Type"], "image/gif")
        part = requests.get(picture["$url"], headers={"Range": "bytes=100-199"}, timeout=PATIENCE)
        expect("a part of it", (part.status_code, part.content), (206, content[100:200]))
        expect("Content-Range", part.headers["Content-Range"], f"bytes 100-199/{len(content)}")

    # Old clients put the file to its name.
    content = noise(5000)
    put = requests.put(f"{setting.base}/files/old.bin", data=content, timeout=PATIENCE, headers={
        "X-Skygear-API-Key": setting.service.api_key, "X-Skygear-Access-Token": setting.ann})
    expect("the status of PUT", put.status_code, 200)
    expect("its file", requests.get(put.json()["result"]["$url"], timeout=PATIENCE).content, content)

    # What is announced is what may be sent.
    announced = post(setting, "asset:put", {
        "filename": "a.bin", "content-type": "application/x-a", "content-size": 1000}, setting.ann)["post-request"]
    for size, refusal in [(1001, (413, 129)), (999, (400, 108))]:
        refused = send(setting, announced, ("a.bin", noise(size), "application/x-a"))
        expect(f"the refusal of {size} bytes", (refused.status_code, code(refused)), refusal)
    expect("the form after them", send(setting, announced, ("a.bin", noise(1000), "application/x-a")).status_code, 200)
