#!/usr/bin/env python3
"""Makes records, and what py-skygear 1.7.1 makes of them, for the test of EchoRule.

usage: Tests/Clients/functions/echo-vectors.py [--count 220] [--seed 1] > Tests/Clients/functions/echo-vectors.json

The test reads more of them, such as 10,000, from the file that SKYROW_ECHO_VECTORS names.

It needs an environment with the real library, such as one made by

    python3.11 -m venv /tmp/py-skygear
    /tmp/py-skygear/bin/pip install 'setuptools<70' wheel
    /tmp/py-skygear/bin/pip install --no-build-isolation skygear==1.7.1

The result is a list of rows. A row with `echo` has a record as the service sends it, the record as a hook returns it that does nothing,
and the value of the field `name` as a hook returns it that changes this field. A row with `unreadable` has a value on which the library fails.
"""

import argparse
import datetime
import json
import random
import sys

from skygear.encoding import deserialize_record, serialize_record

ASSET = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png"
TEXTS = [
    "", "Milk", "K\u00e4se", "e\u0301", "\U0001f9c0", 'a "quoted" \\ text', "line\nbreak\t", "2019-02-07T06:42:59Z", "$type",
]
EPOCH = datetime.datetime(1970, 1, 1)


def instant(draw):
    kind = draw.randrange(5)
    if kind == 0:
        # Before 1970 the library encodes whole seconds only.
        seconds = draw.randrange(-62_000_000_000, 0)
        microseconds = 0
    else:
        seconds = draw.randrange(0, 4_000_000_000 if kind < 4 else 253_000_000_000)
        microseconds = draw.choice([0, 1, 999_999, draw.randrange(1_000_000), 1000 * draw.randrange(1000)])
    time = EPOCH + datetime.timedelta(seconds=seconds, microseconds=microseconds)
    text = f"{time.year:04d}-{time.month:02d}-{time.day:02d}T{time.hour:02d}:{time.minute:02d}:{time.second:02d}"
    if microseconds:
        text += f".{microseconds:06d}".rstrip("0")
    return text + "Z"


def number(draw):
    return draw.choice([
        0, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63), 0.1, -0.5, 1e300, 5e-324, 1.0, 100.25,
        draw.uniform(-1e6, 1e6), draw.randrange(-10**12, 10**12),
    ])


def scalar(draw):
    return draw.choice([number(draw), draw.choice(TEXTS), True, False])


def typed(draw):
    ident = draw.choice(["category/a", "category/a/b", "category/a/b/c", "user/ann", "c1/\u00e9"])
    return draw.choice([
        {"$type": "date", "$date": instant(draw)},
        {"$type": "ref", "$id": ident},
        {"$type": "geo", "$lng": draw.uniform(-180, 180), "$lat": draw.choice([0, 90, draw.uniform(-90, 90)])},
        {"$type": "asset", "$name": ASSET, "$url": "https://files.example/" + ASSET + "?signature=1"},
        {"$type": "unknown", "$underlying_type": "money"},
        {"$type": "bytes", "$base64": "AAEC"},
        {"$type": "geojson", "$val": {"type": "Point", "coordinates": [114.0, 22.5]}},
        {"$type": "relation", "$record_type": "user"},
    ])


def nested(draw, depth=0):
    kind = draw.randrange(5 if depth < 3 else 3)
    if kind == 0:
        return scalar(draw)
    if kind == 1:
        return typed(draw)
    if kind == 2:
        return None
    if kind == 3:
        return [nested(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(["a", "b", "K\u00e4se", "$x", "_y"]): nested(draw, depth + 1) for _ in range(draw.randrange(4))}


def value(draw):
    kind = draw.randrange(4)
    if kind == 0:
        return scalar(draw)
    if kind == 1:
        return typed(draw)
    if kind == 2:
        return [nested(draw) for _ in range(draw.randrange(4))]
    return {"member": nested(draw)}


def access(draw):
    if draw.randrange(3) == 0:
        return None
    subjects = [{"public": True}, {"role": "editor"}, {"user_id": "ann"}]
    return [dict(subject, level=draw.choice(["read", "write"])) for subject in subjects if draw.randrange(2)]


def record(draw):
    sent = {
        "_id": draw.choice(["note/1", "note/a-b", "note/x y"]), "_type": "record", "_access": access(draw),
        "_ownerID": "ann", "_created_at": instant(draw), "_created_by": "ann", "_updated_at": instant(draw),
        "_updated_by": "bob",
    }
    for number in range(1 + draw.randrange(4)):
        sent[f"field{number}"] = value(draw)
    return sent


def other(draw, old):
    """Another value than a decoded one."""
    if isinstance(old, datetime.datetime):
        return old + datetime.timedelta(seconds=1) if old.year < 9990 else "changed"
    if isinstance(old, list):
        return old + [draw.choice([None, 1])]
    if isinstance(old, dict):
        return dict(old, added=draw.choice([None, 1]))
    if isinstance(old, bool):
        return not old
    if isinstance(old, (int, float)) and abs(old) < 1e6:
        return old + 1
    return "changed"


def is_known(sent):
    # Values of an unknown type are ignored on input.
    return not (isinstance(sent, dict) and sent.get("$type") == "unknown")


def row(draw):
    while True:
        sent = record(draw)
        names = [name for name in sent if not name.startswith("_") and is_known(sent[name])]
        if names:
            break
    name = draw.choice(names)
    changed = deserialize_record(sent)
    changed.data[name] = other(draw, changed.data[name])
    echo = serialize_record(deserialize_record(sent))
    return {"sent": sent, "echo": echo, "name": name, "changed": serialize_record(changed)[name]}


UNREADABLE = [
    {"$type": "date", "$date": text} for text in [
        "infinity", "-infinity", "0000-01-01T00:00:00Z", "-000043-03-15T12:00:00Z", "+010000-01-01T00:00:00Z",
        "1969-12-31T23:59:58.5Z", "1900-01-01T00:00:00.000001Z", "2019-02-07 06:42:59Z", "2019-02-07T06:42:59",
        "2019-02-07t06:42:59z", "",
    ]
] + [
    {"$type": "date"}, {"$type": "date", "$date": 1}, {"$type": "ref"}, {"$type": "ref", "$id": "category"},
    {"$type": "ref", "$id": "category/"}, {"$type": "ref", "$id": "/a"}, {"$type": "ref", "$id": "category//a"},
    {"$type": "ref", "$recordType": "category", "$recordID": "a"}, {"$type": "asset"}, {"$type": "asset", "$name": ""},
    {"$type": "geo"}, {"$type": "geo", "$lng": 1}, {"$type": "unknown"}, {"$type": "record"},
    {"$type": "record", "$record": {}},
]


def unreadable(value):
    try:
        sent = {"_id": "note/1", "_type": "record", "_access": None, "field": [{"deep": value}]}
        json.dumps(serialize_record(deserialize_record(sent)), allow_nan=False)
    except Exception:
        return {"unreadable": value}
    sys.exit(f"The library reads {value}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=220)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    rows = [unreadable(value) for value in UNREADABLE] + [row(draw) for _ in range(options.count)]
    texts = [json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False) for row in rows]
    print("[" + ",\n".join(texts) + "]")


if __name__ == "__main__":
    main()
