// What by_hand_node.py calls.
const {
  define, beforeSave, afterSave, beforeDelete, afterFetch, beforeQuery, beforeLogin, afterLogin, handle, on, every, provider, FunctionError,
} = skyrow
const seen = []

define("hello", { user: true, summary: "Greets.", timeout: "2s", readOnly: true, rateLimit: 5, roles: ["friend"] }, ({ name }, context) =>
  ({ name, user: context.userId, roles: context.roles, master: context.isMaster, depth: context.depth, from: context.clientAddress }))
define("list", (args) => args)
define("nothing", () => {})
define("refuse", () => {
  throw new FunctionError(20001, "No.", { why: "because" })
})
define("odd", () => {
  throw new FunctionError("x", "No number.")
})
define("crash", () => {
  throw new TypeError("It broke.")
})
define("log", (_, { log }) => log.warning("Something is odd.", { part: 3 }))
define("back", ({ action, params, options }, { skyrow }) => skyrow.call(action, params, options))
define("wait", (_, { signal }) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))))
define("slow", ({ milliseconds }, { log }) => {
  log.info("A slow call began.")
  return new Promise((done) => setTimeout(() => done("done"), milliseconds))
})
define("seen", () => seen)
define("stray", () => {
  Promise.reject(new Error("A stray promise."))
})

beforeSave("note", { when: ["create"], fields: ["title"] }, async (request) => {
  const { record } = request
  if (record.title === "bad") throw new FunctionError(20002, "A bad title.")
  if (record.title === "refused") request.refuse(new FunctionError(20003, "Refused."))
  if (record.title === "crash") throw new Error("It broke.")
  if (record.title === "public") record._access = [{ public: true, level: "read" }]
  if (record.title === "clear") delete record.body
  record.title = record.title.trim()
  record.isNew = request.isNew
})
beforeSave("note", { batch: 10 }, async (requests) => {
  for (const request of requests) request.record.total = requests.length
})
beforeSave("*", () => {})
beforeDelete("note", ({ record }) => {
  if (record.title === "kept") throw new FunctionError(20005, "It is kept.")
  record.title = "changed"
})
afterSave("note", ({ record }) => {
  if (record.title === "late") throw new FunctionError(20006, "Too late.")
})
afterFetch("note", (request) => {
  if (request.record.hidden) request.drop()
  else request.record.title = request.record.title.toUpperCase()
})
beforeQuery("note", ({ query }) => ({ limit: Math.min(query.limit, 5) }))
beforeLogin(({ user }) => {
  if (user.banned) throw new FunctionError(20004, "Banned.")
})
afterLogin(({ user }) => {
  seen.push(user._id)
})

handle("/web/hello", ({ query, headers }) => `Hello ${query.get("name")} ${headers.get("X-One")}`)
handle("/web/object", { methods: ["POST", "PUT"], key: true }, (request) => ({ method: request.method, got: request.json() }))
handle("/web/tree/", ({ path }) => new Response(path, { status: 201, headers: { "X-Path": path } }))
handle("/web/bytes", () => new Uint8Array([0, 255]))
on("server-ready", () => seen.push("ready"))
on("server-ready", () => seen.push("ready, too"))
every("0 4 * * *", "clean", () => seen.push("cleaned"))
provider("com.example", ({ code }) => {
  if (code !== "right") throw new FunctionError(105, "Wrong.")
  return { principal_id: "ann", auth_data: { name: "Ann" } }
})
