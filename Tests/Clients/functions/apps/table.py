"""The functions and hooks of the table in runners.py, in Python with py-skygear."""

import skygear
from skygear.container import SkygearContainer
from skygear.error import PermissionDenied, SkygearException
from skygear.options import options
from skygear.utils.context import current_user_id


@skygear.op("echo")
def echo(value=None):
    return value


@skygear.op("add")
def add(a, b):
    return a + b


@skygear.op("greet")
def greet(name="you"):
    return f"Hello {name}"


@skygear.op("who", user_required=True)
def who():
    return current_user_id()


@skygear.op("keyed", key_required=True)
def keyed():
    return "in"


@skygear.op("refuse")
def refuse():
    raise SkygearException("No.", 20001, {"why": "because"})


@skygear.op("deny")
def deny():
    raise SkygearException("Not you.", PermissionDenied)


@skygear.op("crash")
def crash():
    raise RuntimeError("secret-of-the-code")


@skygear.op("memos")
def memos():
    answer = SkygearContainer(api_key=options.masterkey).send_action(
        "record:query", {"record_type": "memo", "limit": 0, "count": True})
    return answer["info"]["count"]


@skygear.before_save("memo")
def before_save(record, original, db):
    text = (record.get("text") or "").strip()
    if not text:
        raise SkygearException("A memo needs a text.", 20010, {"arguments": ["text"]})
    record["text"] = text
    record["length"] = len(text)


@skygear.before_delete("memo")
def before_delete(record, db):
    if record.get("locked"):
        raise SkygearException("This memo is locked.", 20011)


def follow(what, record):
    SkygearContainer(api_key=options.masterkey).public_database.save(
        {"_id": f"trace/{what}-{record.id.key}", "text": record.get("text")})


@skygear.after_save("memo")
def after_save(record, original, db):
    follow("saved", record)


@skygear.after_delete("memo")
def after_delete(record, db):
    follow("deleted", record)
