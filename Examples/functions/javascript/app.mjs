// The rules of a game, in JavaScript. `skyrow serve --functions Examples/functions/javascript` runs them.
const { define, beforeSave, beforeLogin, FunctionError } = skyrow

/** Refuses a score that the game cannot give, and fills in its level. */
beforeSave("score", { fields: ["points"] }, async ({ record }) => {
  const { points } = record
  if (!(points >= 0 && points <= 1_000_000)) {
    throw new FunctionError(20001, "Points are between 0 and 1000000.", { arguments: ["points"] })
  }
  record.level = points < 1000 ? "bronze" : points < 10_000 ? "silver" : "gold"
})

/** Refuses players who are banned. An administrator sets the field of their profile. */
beforeLogin(async ({ user }) => {
  if (user.banned) throw new FunctionError(20002, "This account is banned.")
})

/** The best scores, as the caller may see them. */
define("leaderboard", {
  key: true, readOnly: true, summary: "Returns the best scores.",
  params: { type: "object", properties: { places: { type: "integer", minimum: 1, maximum: 100 } } },
}, async ({ places = 10 }, { skyrow }) => {
  const { records } = await skyrow.call("record:query", {
    record_type: "score", limit: places, sort: [[{ $type: "keypath", $val: "points" }, "desc"]],
  })
  return records.map(({ player, points }) => ({ player, points }))
})

/** The price of a coin in another currency, by a service that has the rates. */
define("price", {
  user: true, timeout: "3s",
  params: { type: "object", properties: { currency: { type: "string", pattern: "^[A-Z]{3}$" } }, required: ["currency"] },
}, async ({ currency }, { signal, log }) => {
  const response = await fetch(`${process.env.RATES_URL}/rates/${currency}`, { signal })
  if (!response.ok) {
    log.warning("The service of rates has no such rate.", { currency, status: response.status })
    throw new FunctionError(20003, "There is no price in this currency.", { arguments: ["currency"] })
  }
  const { rate } = await response.json()
  return { amount: Math.round(499 * rate) / 100, currency }
})
