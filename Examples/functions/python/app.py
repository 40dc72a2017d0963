"""The rules of a game, in Python with py-skygear. `skyrow serve --functions Examples/functions/python` runs them.

py-skygear is `pip install skygear==1.7.1`, in a virtual environment whose `bin` is on the service's PATH.
"""

import os

import requests
import skygear
from skygear.container import SkygearContainer
from skygear.error import SkygearException
from skygear.options import options
from skygear.query import Query


@skygear.before_save("score")
def check_score(record, original_record, db):
    """Refuses a score that the game cannot give, and fills in its level."""
    points = record.get("points")
    if not isinstance(points, (int, float)) or not 0 <= points <= 1_000_000:
        raise SkygearException("Points are between 0 and 1000000.", 20001, {"arguments": ["points"]})
    record["level"] = "bronze" if points < 1000 else "silver" if points < 10_000 else "gold"


@skygear.op("leaderboard", key_required=True)
def leaderboard(places=10):
    """The best scores."""
    container = SkygearContainer(api_key=options.masterkey)
    query = Query("score", limit=places).add_order("points", "desc")
    scores = container.public_database.query(query)
    return [{"player": score["player"], "points": score["points"]} for score in scores]


@skygear.op("price", user_required=True)
def price(currency):
    """The price of a coin in another currency, by a service that has the rates."""
    response = requests.get(f"{os.environ['RATES_URL']}/rates/{currency}", timeout=3)
    if response.status_code != 200:
        raise SkygearException("There is no price in this currency.", 20003, {"arguments": ["currency"]})
    return {"amount": round(4.99 * response.json()["rate"], 2), "currency": currency}
