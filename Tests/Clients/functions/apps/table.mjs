// The functions and hooks of the table in runners.py, in JavaScript.
const { define, beforeSave, afterSave, beforeDelete, afterDelete, FunctionError } = skyrow

define("echo", ({ value }) => value)
define("add", {
  params: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
}, ({ a, b }) => a + b)
define("greet", ({ name = "you" }) => `Hello ${name}`)
define("who", { user: true }, (_, { userId }) => userId)
define("keyed", { key: true }, () => "in")
define("mastered", { master: true }, () => "in")
define("refuse", () => {
  throw new FunctionError(20001, "No.", { why: "because" })
})
define("deny", () => {
  throw new FunctionError(102, "Not you.")
})
define("crash", () => {
  throw new Error("secret-of-the-code")
})
define("memos", async (_, { skyrow }) => {
  const { info } = await skyrow.call("record:query", { record_type: "memo", limit: 0, count: true }, { asMaster: true })
  return info.count
})

beforeSave("memo", async ({ record }) => {
  if (!record.text?.trim()) throw new FunctionError(20010, "A memo needs a text.", { arguments: ["text"] })
  record.text = record.text.trim()
  record.length = record.text.length
})
beforeDelete("memo", async ({ record }) => {
  if (record.locked) throw new FunctionError(20011, "This memo is locked.")
})
const follow = (what) => ({ record, skyrow }) =>
  skyrow.call("record:save", { records: [{ _id: `trace/${what}-${record._id.split("/")[1]}`, text: record.text }] }, { asMaster: true })
afterSave("memo", follow("saved"))
afterDelete("memo", follow("deleted"))
