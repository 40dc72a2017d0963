-- wrk's side of the benchmark: makes the requests of one kind of work and, when asked, checks every response.
-- Arguments: work, record type, rows, API key, access token, "check" to look into the responses, and the file that says
-- how the service is asked (skyrow.lua, pocketbase.lua).
--
-- Handing each response to Lua costs wrk more processor time than the service spends on it, and both share the cores. So a
-- short run checks, and a run that measures only has the mean size of its responses compared with the checked ones.

local work, service, make
local threads = {}

-- Globals, because done() reads them off each thread.
wrong, first_wrong, refused = 0, "", 0
local responses = 0

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

-- How often a record must stand in the response.
local records_expected = {
    fetch = 1, query = 20, of_group = 20, save = 1, guarded = 1, linked = 1, spoilt = 1, batch = 100,
    filter = 50, prefix = 50, path = 50, include = 100, keyset = 50, aggregate = 0, increment = 1,
    near = 50, match = 50, members = 50, relate = 1, conditions = 20, changes = 1000, unchanged = 0,
}

function init(arguments)
    work = arguments[1]
    math.randomseed(os.time() * 1000 + number * 7919)
    service = dofile(arguments[7])
    make = service.requests(arguments[2], tonumber(arguments[3]), arguments[4], arguments[5])[work]
    -- wrk asks after init() whether there is a function of this name.
    if arguments[6] == "check" then response = check end
end

function request()
    return make()
end

function check(status, headers, body)
    -- One of twelve is to fail, and nothing else may.
    if work == "spoilt" and body:find(service.error, 1, true) then
        refused = refused + 1
        return
    end
    -- The service makes no accounts, and a weak password is refused before it says so.
    if work == "signup" then
        if not body:find(service.forbidden, 1, true) and not body:find(service.weak, 1, true) then
            wrong = wrong + 1
            if wrong == 1 then first_wrong = status .. " " .. body:sub(1, 300) end
        end
        return
    end
    if status ~= 200 or body:find(service.error, 1, true) or not body:find(service.result, 1, true) then
        wrong = wrong + 1
        if wrong == 1 then first_wrong = status .. " " .. body:sub(1, 300) end
        return
    end
    -- Counting the records of one response in a hundred finds a short response without loading the measurement.
    responses = responses + 1
    if responses % 100 == 1 then
        local _, records = body:gsub(service.record, "")
        if records ~= records_expected[work] then
            wrong = wrong + 1
            first_wrong = records .. " records: " .. body:sub(1, 300)
        end
    end
end

function done(summary, latency, _)
    local errors = summary.errors
    local wrong_answers = errors.connect + errors.read + errors.write + errors.timeout
    -- What is refused on purpose may have a status of its own.
    if work ~= "spoilt" and work ~= "signup" then wrong_answers = wrong_answers + errors.status end
    local refusals = 0
    for _, thread in ipairs(threads) do
        wrong_answers = wrong_answers + (thread:get("wrong") or 0)
        refusals = refusals + (thread:get("refused") or 0)
        local first = thread:get("first_wrong")
        if first and first ~= "" then print("WRONG " .. first) end
    end
    if refusals * 10 > summary.requests then
        print("WRONG " .. refusals .. " of " .. summary.requests .. " saves were refused")
        wrong_answers = wrong_answers + refusals
    end
    print(string.format("MEASURED %d %d %d %d %d %d", summary.requests, summary.duration, wrong_answers,
        latency:percentile(50), latency:percentile(99), summary.bytes / math.max(1, summary.requests)))
end
