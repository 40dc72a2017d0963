#!/usr/bin/env node
// A function server for Skyrow in JavaScript: one file, no packages, Node 18 or later.
//
//   node skyrow-functions.mjs <host:port | unix:/path> file.mjs …
//
// Skyrow starts it for a directory of `--functions` that has *.mjs files. Each of these registers what it has:
//
//   const { define, beforeSave, FunctionError } = skyrow
//
//   define("hello", { user: true }, async ({ name }, context) => `Hello ${name}, you are ${context.userId}`)
//
//   beforeSave("note", { fields: ["title"] }, async ({ record }) => {
//     if (!record.title) throw new FunctionError(20001, "A note needs a title.")
//     record.title = record.title.trim()
//   })
//
// Values with a type, such as {"$type": "date", "$date": "2026-01-31T09:00:00Z"}, pass in both directions as they are.
// Documentation/Functions.md describes each of these functions. The environment:
//
//   SKYROW_ENDPOINT, SKYROW_API_KEY, SKYROW_MASTER_KEY   where calls of `context.skyrow` go, and with which keys
//   SKYROW_FUNCTION_SECRET   the secrets of signatures, separated by spaces; without one every call is accepted
//   SKYROW_FUNCTION_BODY     upper bound on the bytes of a call (67108864)

import { createHmac, timingSafeEqual } from "node:crypto"
import { unlinkSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isDeepStrictEqual } from "node:util"

const environment = process.env
const maximumBody = Number(environment.SKYROW_FUNCTION_BODY) || 64 * 1024 * 1024
/** How far the time of a signature may be off, in seconds. */
const signatureAge = 300
/** How long calls may take after SIGTERM, in milliseconds. */
const drainTime = 30_000

// What a file of the application calls

/** An error that the caller gets. Codes from 20000 to 29999 are free for applications. */
class FunctionError extends Error {
  constructor(code, message, info) {
    super(message)
    this.name = "FunctionError"
    this.code = code
    this.info = info
  }
}

/** The answer to `init`. */
const registration = { protocol: "skyrow/1", op: [], hook: [], handler: [], timer: [], event: [], provider: [] }
/** What answers a call, by kind and name. */
const answers = { op: new Map(), hook: new Map(), handler: new Map(), timer: new Map(), event: new Map(), provider: new Map() }

function register(kind, key, entry, answer) {
  if (answers[kind].has(key)) throw new Error(`The ${kind} ${key} is registered twice.`)
  answers[kind].set(key, answer)
  registration[kind].push(entry)
}

/** Divides `(options?, body)`. */
function parts(rest, name) {
  const body = rest.at(-1)
  if (typeof body !== "function") throw new TypeError(`${name} needs a function as its last argument.`)
  return [rest.length > 1 ? rest[0] : {}, body]
}

/** What is required of a caller: `key`, `user`, `roles`, `administrator` or `master`. */
const requirements = ({ key, user, roles, administrator, master }) => ({
  key_required: Boolean(key), user_required: Boolean(user), roles, administrator, master,
})

/**
 * A function: `define(name, options?, async (args, context) => result)`.
 *
 * Options: the requirements; `params`, a JSON Schema of the arguments, which Skyrow checks; `result`, `summary`, `timeout`, such as
 * "5s"; `readOnly`; and `rateLimit`, the calls of a client in a minute.
 */
function define(name, ...rest) {
  const [options, body] = parts(rest, "define")
  const { params, result, summary, timeout, readOnly, rateLimit } = options
  const entry = { name, ...requirements(options), params, result, summary, timeout, read_only: readOnly, rate_limit: rateLimit }
  register("op", name, entry, body)
}

function addHook(trigger, type, options, body, isBatch = false) {
  const base = options.name ?? `${trigger}:${type}`
  let name = base
  for (let number = 2; answers.hook.has(name); number += 1) name = `${base}-${number}`
  register("hook", name, { ...options, name, type, trigger }, { trigger, body, isBatch })
}

/**
 * A hook of records: `beforeSave(type, options?, async (request) => …)`; the type `*` stands for all types.
 *
 * Options: `when` (["create"], ["update"]), `fields`, `required: false`, `async`, `timeout`, `name`, and `batch`: with it, the function
 * gets a list of up to that many requests; without it, one at a time.
 */
const recordHook = (trigger) => (type, ...rest) => {
  const [options, body] = parts(rest, trigger)
  addHook(trigger, type, { batch: 100, ...options }, body, options.batch !== undefined)
}

/** A hook of queries: `beforeQuery(type, options?, async ({ query, context }) => ({ predicate, limit }))`. */
const beforeQuery = (type, ...rest) => addHook("beforeQuery", type, ...parts(rest, "beforeQuery"))

/** A hook of accounts: `beforeLogin(options?, async ({ user, context }) => …)`. */
const accountHook = (trigger) => (...rest) => addHook(trigger, "user", ...parts(rest, trigger))

/**
 * The HTTP requests of a path, `handle("/web/hello", options?, async (request, context) => response)`; a path with a slash at its end
 * stands for all paths below it.
 *
 * The request has `method path query headers body text() json()`. The response is a text, bytes, a `Response`, or a value as JSON.
 * Options: the requirements and `methods`, ["GET"] without it.
 */
function handle(path, ...rest) {
  const [options, body] = parts(rest, "handle")
  const name = path.replace(/^\//, "").replaceAll("/", ":")
  for (const method of options.methods ?? ["GET"]) {
    register("handler", `${method} ${name}`, { name, methods: [method], ...requirements(options) }, body)
  }
}

/** A timer: `every("0 4 * * *", "clean", async (context) => …)`. */
const every = (spec, name, body) => register("timer", name, { name, spec }, body)

/** An event, such as "server-ready": `on(name, async (parameters) => …)`. Several functions may wait for the same. */
function on(name, body) {
  const known = answers.event.get(name)
  if (known) known.push(body)
  else register("event", name, { name }, [body])
}

/** A provider of identities: `provider(id, async (authData, context) => ({ principal_id, auth_data }))`. */
const provider = (id, body) => register("provider", id, { type: "auth", id, name: id }, body)

const skyrow = {
  FunctionError, define, handle, every, on, provider,
  beforeSave: recordHook("beforeSave"), afterSave: recordHook("afterSave"),
  beforeDelete: recordHook("beforeDelete"), afterDelete: recordHook("afterDelete"),
  beforeQuery, afterFetch: recordHook("afterFetch"),
  beforeLogin: accountHook("beforeLogin"), afterLogin: accountHook("afterLogin"), afterLogout: accountHook("afterLogout"),
}
globalThis.skyrow = skyrow

// What a function gets

/** Calls Skyrow in the name of the caller, or with the master key. */
class Client {
  #context
  #headers

  constructor(context, headers) {
    this.#context = context
    this.#headers = headers
  }

  /**
   * Returns the result of an action: `await context.skyrow.call("record:save", { records })`. Throws `FunctionError` with its code.
   *
   * Options: `asMaster: true` for the master key, `asUser: id` for the master key in the name of a user, `signal` to end the call.
   */
  async call(action, params = {}, { asMaster = false, asUser, signal = this.#context.signal } = {}) {
    if (!environment.SKYROW_ENDPOINT) throw new Error("SKYROW_ENDPOINT is not set.")
    const byMaster = asMaster || asUser !== undefined
    const key = byMaster ? environment.SKYROW_MASTER_KEY : environment.SKYROW_API_KEY
    const headers = { ...this.#headers, "content-type": "application/json" }
    if (key) headers["x-skygear-api-key"] = key
    const { token } = this.#context
    if (token && !byMaster) headers.authorization = `Bearer ${token}`
    const parameters = asUser === undefined ? params : { ...params, _user_id: asUser }
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: action, params: parameters })
    const response = await fetch(`${environment.SKYROW_ENDPOINT}/rpc`, { method: "POST", headers, body, signal })
    const { result, error } = await response.json()
    if (error) throw new FunctionError(error.code, error.message, error.data?.info ?? error.data)
    return result
  }
}

/** Writes a line to the log of Skyrow, which takes level, message and request id over. */
function log(level, message, fields) {
  process.stderr.write(`${JSON.stringify({ level, message, ...fields })}\n`)
}

/** What a function learns about its call. */
class Context {
  #head
  #response
  #end
  #gone

  constructor(sent, head, response) {
    this.#head = head
    this.#response = response
    this.#end = sent.deadline_ms === undefined ? undefined : performance.now() + sent.deadline_ms
    /** undefined for an anonymous caller. */
    this.userId = sent.user_id
    this.roles = sent.roles ?? []
    this.isMaster = sent.access_key_type === "master"
    this.requestId = sent.request_id ?? head["x-skygear-request-id"]
    /** 1 for a call by a client. */
    this.depth = sent.depth ?? 1
    this.clientAddress = sent.client_address
    /** An access token of the caller, for the time of the call. */
    this.token = sent.token
  }

  /** Aborts at the end of the call's time, and when the caller has gone. */
  get signal() {
    if (this.#gone) return this.#gone.signal
    const gone = this.#gone = new AbortController()
    const after = (time, message) => setTimeout(() => gone.abort(new Error(message)), time)
    const timer = this.#end && after(Math.max(0, this.#end - performance.now()), "The time of the call is over.")
    this.#response.on("close", () => {
      clearTimeout(timer)
      gone.abort(new Error("The caller has gone."))
    })
    return gone.signal
  }

  get skyrow() {
    const { traceparent } = this.#head
    return new Client(this, traceparent ? { traceparent } : {})
  }

  get log() {
    const writing = (level) => (message, fields) => log(level, message, { ...fields, request_id: this.requestId })
    return { debug: writing("debug"), info: writing("info"), warning: writing("warning"), error: writing("error") }
  }
}

/**
 * What a hook of records gets: `record`, which it may change, `original`, `changed`, `isNew`, `context`, `skyrow`, `refuse(error)` and
 * `drop()`.
 */
class HookRequest {
  #sent
  #isDropped = false
  /** undefined for a record that is not refused. */
  refusal

  constructor({ record, original, changed }, context) {
    this.record = record
    this.original = original ?? null
    this.changed = changed ?? []
    this.isNew = !original
    this.context = context
    this.#sent = structuredClone(record)
  }

  get skyrow() { return this.context.skyrow }

  /** Refuses this record; others of the same call are saved or deleted. */
  refuse(error) {
    this.refusal = error
  }

  /** Leaves the record out of an answer (`afterFetch`). */
  drop() {
    this.#isDropped = true
  }

  /** What `beforeSave` and `afterFetch` say about the record. */
  verdict() {
    if (this.#isDropped) return { drop: true }
    // What is compared was read from the same text, so a number that JavaScript cannot hold exactly counts as unchanged.
    const set = {}
    for (const name of new Set([...Object.keys(this.#sent), ...Object.keys(this.record)])) {
      if (name.startsWith("_") || isDeepStrictEqual(this.#sent[name], this.record[name])) continue
      set[name] = this.record[name] ?? null
    }
    const verdict = Object.keys(set).length ? { set } : {}
    const access = this.record._access
    if (access && !isDeepStrictEqual(this.#sent._access, access)) verdict.access = access
    return verdict
  }
}

// What answers a call

/** An error as the caller sees it. The stack goes to the log. */
function described(error, requestId) {
  if (error instanceof FunctionError) {
    return { code: Number.isInteger(error.code) ? error.code : 10000, message: error.message, info: error.info }
  }
  log("error", error?.message ?? String(error), { request_id: requestId, stack: error?.stack })
  return { code: 10000, message: error?.message ?? "The function failed." }
}

function find(kind, key) {
  const answer = answers[kind]?.get(key)
  if (!answer) throw new FunctionError(117, `This server has no ${kind} ${key}.`)
  return answer
}

async function answerHook({ trigger, body, isBatch }, param, context) {
  if (!param.records) return (await body({ query: param.query, user: param.user, context, skyrow: context.skyrow })) ?? {}
  const requests = param.records.map((each) => new HookRequest(each, context))
  if (isBatch) {
    await body(requests)
  } else {
    await Promise.all(requests.map(async (request) => {
      try {
        await body(request)
      } catch (error) {
        request.refuse(error)
      }
    }))
  }
  const mayRefuse = trigger === "beforeSave" || trigger === "beforeDelete"
  const failed = requests.find((request) => request.refusal)
  if (failed && !mayRefuse) throw failed.refusal
  const mayChange = trigger === "beforeSave" || trigger === "afterFetch"
  return requests.map((request) => {
    if (request.refusal) return { error: described(request.refusal, context.requestId) }
    return mayChange ? request.verdict() : {}
  })
}

async function answerHandler(body, param, context) {
  const bytes = Buffer.from(param.body ?? "", "base64")
  const headers = new Headers(Object.entries(param.header ?? {}).flatMap(([name, values]) => values.map((value) => [name, value])))
  const request = {
    method: param.method, path: param.path, query: new URLSearchParams(param.query_string ?? ""), headers, body: bytes,
    text: () => bytes.toString("utf8"), json: () => JSON.parse(bytes.toString("utf8")),
  }
  const result = await body(request, context)
  const response = (status, header, content) => ({ status, header, body: Buffer.from(content).toString("base64") })
  if (result instanceof Response) {
    const header = {}
    for (const [name, value] of result.headers) (header[name] ??= []).push(value)
    return response(result.status, header, await result.arrayBuffer())
  }
  if (typeof result === "string") return response(200, { "Content-Type": ["text/plain; charset=utf-8"] }, result)
  if (result instanceof Uint8Array) return response(200, { "Content-Type": ["application/octet-stream"] }, result)
  return response(200, { "Content-Type": ["application/json"] }, JSON.stringify(result ?? null))
}

/** Returns the result of a call, or throws. */
async function answer({ kind, name, param = {} }, context) {
  switch (kind) {
    case "event": {
      if (name === "init") return registration
      for (const body of answers.event.get(name) ?? []) await body(param)
      return null
    }
    case "op": return find("op", name)(param.args ?? {}, context)
    case "hook": return answerHook(find("hook", name), param, context)
    case "handler": return answerHandler(find("handler", `${param.method} ${name}`), param, context)
    case "timer": return find("timer", name)(context)
    case "provider": return find("provider", name)(param.auth_data, context)
    default: throw new FunctionError(117, `This server has no ${kind}.`)
  }
}

// HTTP

/** The keys of signatures: `whsec_` and Base64, or a text. */
const secrets = (environment.SKYROW_FUNCTION_SECRET ?? "").split(" ").filter(Boolean)
  .map((text) => text.startsWith("whsec_") ? Buffer.from(text.slice(6), "base64") : Buffer.from(text))

/** Whether Skyrow sent this, by the rules of Standard Webhooks. */
function isSigned(head, body) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = head
  if (!id || !time || !signatures || !(Math.abs(Date.now() / 1000 - Number(time)) <= signatureAge)) return false
  const given = signatures.split(" ").filter((text) => text.startsWith("v1,")).map((text) => Buffer.from(text.slice(3), "base64"))
  return secrets.some((secret) => {
    const expected = createHmac("sha256", secret).update(`${id}.${time}.`).update(body).digest()
    return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected))
  })
}

/** Reads a body; null when it is too large. */
const bodyOf = (request) => new Promise((done, fail) => {
  if (Number(request.headers["content-length"]) > maximumBody) return done(null)
  const chunks = []
  let size = 0
  request.on("data", (chunk) => {
    size += chunk.length
    if (size <= maximumBody) return chunks.push(chunk)
    request.pause()
    done(null)
  })
  request.on("end", () => done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
  request.on("error", fail)
})

function respond(response, status, value) {
  if (response.destroyed) return
  const body = Buffer.from(JSON.stringify(value))
  const head = { "Content-Type": "application/json", "Content-Length": body.length }
  // The rest of a body that is refused is not read.
  if (status === 413 || isEnding) head.Connection = "close"
  response.writeHead(status, head).end(body)
}

const refusal = (code, message) => ({ error: { code, message } })

async function serve(request, response) {
  if (request.method !== "POST") return respond(response, 405, refusal(107, "Calls are made with POST."))
  const body = await bodyOf(request)
  if (!body) return respond(response, 413, refusal(107, `A call may have ${maximumBody} bytes.`))
  if (secrets.length && !isSigned(request.headers, body)) {
    return respond(response, 401, refusal(106, "The signature is missing, wrong or too old."))
  }
  let call
  try {
    call = JSON.parse(body.toString("utf8"))
  } catch {
    call = null
  }
  if (typeof call?.kind !== "string") return respond(response, 400, refusal(107, "The body is no call."))

  const context = new Context(call.context ?? {}, request.headers, response)
  let result
  try {
    result = { result: (await answer(call, context)) ?? null }
  } catch (error) {
    result = { error: described(error, context.requestId) }
  }
  respond(response, 200, result)
}

let isEnding = false

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    log("error", error.message, { stack: error.stack })
    respond(response, 500, refusal(10000, "The call failed."))
  })
})
// Skyrow closes connections that it no longer needs; a connection that this end closes might be one on which a call is on its way.
server.keepAliveTimeout = 0

/** Where to listen, as `net.Server.listen` takes it: `127.0.0.1:8000`, `[::1]:8000`, `unix:/path` or a path. */
function place(address) {
  const socket = /^(?:unix:)?(\/.*)$/.exec(address)
  if (socket) return { path: socket[1] }
  const parts = /^(?:\[(.+)\]|([^:]*)):(\d+)$/.exec(address)
  if (!parts) throw new Error(`${address} is neither host:port nor unix:/path.`)
  return { host: parts[1] ?? (parts[2] || "127.0.0.1"), port: Number(parts[3]) }
}

async function listen(options) {
  const attempt = () => new Promise((done, fail) => {
    server.once("error", fail).listen(options, () => done(server.off("error", fail)))
  })
  try {
    await attempt()
  } catch (error) {
    // The socket of a server that was killed stays.
    if (error.code !== "EADDRINUSE" || !options.path || await isAnswered(options.path)) throw error
    unlinkSync(options.path)
    await attempt()
  }
}

const isAnswered = (path) => new Promise((done) => {
  connect(path).on("error", () => done(false)).on("connect", function () {
    done(true)
    this.destroy()
  })
})

function end() {
  if (isEnding) return
  isEnding = true
  server.close(() => process.exit(0))
  server.closeIdleConnections?.()
  setTimeout(() => process.exit(0), drainTime).unref()
}

process.on("SIGTERM", end)
process.on("SIGINT", end)
// A promise that no call waits for must not end the calls of others.
process.on("unhandledRejection", (error) => log("error", error?.message ?? String(error), { stack: error?.stack }))

const [address, ...files] = process.argv.slice(2)
if (!address || !files.length) {
  process.stderr.write("usage: node skyrow-functions.mjs <host:port | unix:/path> file.mjs …\n")
  process.exit(64)
}
try {
  for (const file of files) await import(pathToFileURL(resolve(file)).href)
  const options = place(address)
  if (!secrets.length && options.host && !/^(127\.|::1$|localhost$)/.test(options.host)) {
    log("warning", "SKYROW_FUNCTION_SECRET is not set: any program that reaches this address can call every function.")
  }
  const mask = process.umask(options.path ? 0o117 : process.umask())
  await listen(options)
  process.umask(mask)
  log("info", "The function server listens.", { address, functions: registration.op.length, hooks: registration.hook.length })
} catch (error) {
  log("error", error.message, { stack: error.stack })
  process.exit(1)
}
