"""An app that uses every decorator of py-skygear."""

import datetime
import json

import skygear
from skygear.container import SkygearContainer
from skygear.error import ResourceNotFound, SkygearException
from skygear.models import DirectAccessControlEntry, Location, Record, RecordID, Reference
from skygear.options import options
from skygear.predicate import Predicate
from skygear.providers import BaseAuthProvider
from skygear.query import Query
from skygear.utils.context import current_request_id, current_user_id
from skygear.utils.http import Response

seen = []


# Functions

@skygear.op("echo")
def echo(value=None):
    return value


@skygear.op("kinds")
def kinds(**values):
    """The Python types into which typed values are decoded."""
    return {name: type(value).__name__ for name, value in values.items()}


@skygear.op("positional")
def positional(a, b=2):
    return [a, b]


@skygear.op("game:best", key_required=True)
def best():
    return "best"


@skygear.op("values")
def values():
    """A value of each type, made here."""
    return {
        "date": datetime.datetime(2026, 1, 31, 9, 0, 0, 123456, datetime.timezone.utc),
        "place": Location(22.5, 114.25),
        "reference": Reference(RecordID("memo", "1")),
        "list": [1, 2.5, None, True, "text"],
        "object": {"a": {"b": []}},
    }


@skygear.op("who", user_required=True)
def who():
    return {"user": current_user_id(), "has_request": bool(current_request_id())}


@skygear.op("fails")
def fails(code):
    raise SkygearException("It fails.", code, {"why": "because"})


@skygear.op("crashes")
def crashes():
    raise ZeroDivisionError("secret-of-the-code")


class Missing(Exception):
    pass


@skygear.exception_handler(Missing)
def missing(exception):
    return SkygearException("It is missing.", ResourceNotFound)


@skygear.op("misses")
def misses():
    raise Missing()


@skygear.op("seen")
def what_was_seen():
    return seen


# Calls back

def admin():
    return SkygearContainer(api_key=options.masterkey)


@skygear.op("save:as-master", user_required=True)
def save_as_master(text):
    record = Record(RecordID("page", "master"), current_user_id(), None, data={"text": text, "n": 1})
    record.acl = [DirectAccessControlEntry(current_user_id(), "read")]
    answer = admin().public_database.save([record], atomic=True)
    found = admin().public_database.query(Query("page", Predicate(text__eq=text)))
    return {"saved": [each["_id"] for each in answer["result"]], "found": [each["n"] for each in found]}


@skygear.op("save:as-user", user_required=True)
def save_as_user(text):
    container = SkygearContainer(api_key=options.masterkey, user_id=current_user_id())
    saved = container.private_database.save({"_id": "page/user", "text": text})
    query = Query("page", limit=5, count=True).add_order("text", "asc")
    found = container.private_database.query(query)
    return {"owner": saved["result"][0]["_ownerID"], "found": [each["text"] for each in found]}


@skygear.op("save:refused")
def save_refused():
    container = SkygearContainer(api_key="wrong")
    return container.public_database.save({"_id": "page/refused"})["error"]["code"]


@skygear.op("query:sql")
def query_sql():
    with skygear.db_conn() as db:
        return [list(row) for row in db.execute("SELECT _id, text FROM memo ORDER BY _id")]


# Hooks

@skygear.before_save("memo", name="check")
def check(record, original, db):
    if not record.get("text"):
        raise SkygearException("A memo needs a text.", 20010, {"arguments": ["text"]})
    record["length"] = len(record["text"])
    record["number"] = 1 if original is None else original["number"] + 1
    if record["text"] == "shared":
        record.acl = [DirectAccessControlEntry("friend", "read")]
    if record["text"] == "cleared":
        record["note"] = None


@skygear.before_save("memo", async_=True)
def noticed(record, original, db):
    record["length"] = -1
    seen.append(["noticed", record.id.key])


@skygear.after_save("memo")
def saved(record, original, db):
    count = db.execute("SELECT count(*) FROM memo WHERE _id = %s", (record.id.key,)).scalar()
    seen.append(["saved", record.id.key, count])
    if record["text"] == "breaks after":
        raise SkygearException("Too late.", 20012)


@skygear.before_delete("memo")
def kept(record, db):
    if record.get("locked"):
        raise SkygearException("This memo is locked.", 20011)


@skygear.after_delete("memo")
def deleted(record, db):
    count = db.execute("SELECT count(*) FROM memo WHERE _id = %s", (record.id.key,)).scalar()
    seen.append(["deleted", record.id.key, count])


# It is registered only; timers run in a later part.
@skygear.every("@every 1h", name="hourly")
def hourly():
    seen.append(["hourly"])


# HTTP

@skygear.handler("web:text", method="GET")
def text(request):
    return "Hello " + request.args.get("name", "you")


@skygear.handler("web:object", method=["POST", "PUT"], user_required=True)
def object_(request):
    return {"method": request.method, "got": json.loads(request.get_data(as_text=True))}


@skygear.handler("web:response", method="GET", key_required=True)
def response(request):
    return Response(b"\x00\xff", status=201, headers={"X-One": "1"}, content_type="image/png")


@skygear.handler("tree/", method="GET")
def tree(request):
    return request.path


@skygear.rest("books")
class Books(skygear.RestfulResource):
    def index(self):
        return [1, 2]

    def get(self, id):
        return {"id": id}


@skygear.static_assets("public")
def assets():
    return None


@skygear.provides("auth", "com.example")
class Provider(BaseAuthProvider):
    def login(self, auth_data):
        if auth_data.get("code") != "right":
            raise SkygearException("A wrong code.")
        return {"principal_id": "ann", "auth_data": {"name": "Ann"}}


@skygear.event("server-ready")
def ready(**_):
    seen.append(["ready"])


@skygear.event("schema-changed")
def changed(**types):
    seen.append(["schema", *sorted(types)])
