"""Addresses that py-skygear signs, and those of the service that it verifies."""

import importlib
import importlib.util
import sys
import time
import types
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import requests

from .setting import PATIENCE, Setting, code, expect, noise


def signer_class():
    """py-skygear's FileSystemAssetSigner, without the package around it, which requires libraries of its time."""
    package = importlib.util.find_spec("skygear")
    assert package, "py-skygear is not installed"
    folder = types.ModuleType("skygear_asset")
    folder.__path__ = [str(Path(package.origin).parent / "asset")]
    sys.modules[folder.__name__] = folder
    return importlib.import_module("skygear_asset.fs").FileSystemAssetSigner


def run(setting: Setting):
    content = noise(10_000)
    file = setting.upload(content, "Kätz+chen 1.bin", "application/octet-stream")
    name = file["$name"]
    prefix, _, _ = file["$url"].rpartition("/")
    signer = signer_class()(prefix, setting.secret)

    # Theirs opens here.
    theirs = signer.sign(name)
    response = requests.get(theirs, timeout=PATIENCE)
    expect("the status of an address that py-skygear signed", response.status_code, 200)
    expect("its file", response.content, content)
    for part, other in [("signature=", "signature=A"), (name, name[:-1] + "m"), ("expiredAt=", "expiredAt=1")]:
        refused = requests.get(theirs.replace(part, other), timeout=PATIENCE)
        expect(f"the refusal of {other} for {part}", (refused.status_code, code(refused)), (401, 106))

    class Past(signer_class()):
        @property
        def signature_expiry_duration(self):
            return timedelta(seconds=-10)

    expired = requests.get(Past(prefix, setting.secret).sign(name), timeout=PATIENCE)
    expect("the refusal of an expired address", (expired.status_code, code(expired)), (403, 102))
    foreign = requests.get(signer_class()(prefix, "another secret").sign(name), timeout=PATIENCE)
    expect("the refusal of another secret", (foreign.status_code, code(foreign)), (401, 106))

    # Ours is what theirs is for the same end.
    query = parse_qs(urlsplit(file["$url"]).query)
    end = int(query["expiredAt"][0])
    assert time.time() < end <= time.time() + 1.5 * 15 * 60, end

    class Then(signer_class()):
        @property
        def signature_expiry_duration(self):
            return Exactly(end)

    expect("the address of the service", file["$url"], Then(prefix, setting.secret).sign(name))


class Exactly:
    """A duration that ends at a time, for a signer that adds it to the present."""

    def __init__(self, end: int):
        self.end = end

    def __radd__(self, _):
        return self

    def timestamp(self) -> int:
        return self.end
