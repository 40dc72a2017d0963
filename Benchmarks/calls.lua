-- wrk's side of the benchmark: makes the requests of one kind of work and, when asked, checks every response.
-- Arguments: work, record type, rows, API key, access token, and "check" to look into the responses.
--
-- Handing each response to Lua costs wrk more processor time than the service spends on it, and both share the cores. So a
-- short run checks, and a run that measures only has the mean size of its responses compared with the checked ones.

local work, record_type, rows, head
local threads = {}

-- Globals, because done() reads them off each thread.
wrong, first_wrong, refused = 0, "", 0
local responses = 0

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

local function post(params)
    local body = '{"jsonrpc":"2.0","id":1,"method":"' .. params .. "}"
    return head .. #body .. "\r\n\r\n" .. body
end

-- Eighteen random digits behind a one, as pgbench/save.sql draws them.
local function fresh_id()
    return string.format("1%09d%09d", math.random(0, 999999999), math.random(0, 999999999))
end

local function new_record(reference)
    local id = fresh_id()
    local link = reference and ',"item":{"$type":"ref","$id":"item/' .. reference .. '"}' or ""
    return '{"_id":"' .. record_type .. "/" .. id .. '","title":"Item ' .. id .. '","grp":' .. math.random(1, 1000000)
        .. ',"score":0.5,"done":false,"due":{"$type":"date","$date":"2026-03-01T09:00:00Z"}' .. link .. "}"
end

local function existing() return 100000000000 + math.random(1, rows) end

local requests = 0

local makers = {
    fetch = function()
        return post('record:fetch","params":{"ids":["' .. record_type .. "/" .. 100000000000 + math.random(1, rows) .. '"]}')
    end,
    query = function()
        return post('record:query","params":{"record_type":"' .. record_type
            .. '","predicate":["eq",{"$type":"keypath","$val":"grp"},' .. math.random(1, rows / 20)
            .. '],"sort":[[{"$type":"keypath","$val":"title"},"asc"]],"limit":20}')
    end,
    save = function()
        return post('record:save","params":{"records":[' .. new_record() .. "]}")
    end,
    linked = function()
        return post('record:save","params":{"records":[' .. new_record(existing()) .. "]}")
    end,
    -- Every twelfth save names a record that does not exist, as 4 of 48 clients would that do nothing else.
    spoilt = function()
        requests = requests + 1
        local reference = requests % 12 == 0 and "missing" or existing()
        return post('record:save","params":{"records":[' .. new_record(reference) .. "]}")
    end,
    batch = function()
        local records = {}
        for i = 1, 100 do records[i] = new_record() end
        return post('record:save","params":{"records":[' .. table.concat(records, ",") .. "]}")
    end,
}

-- How often a record must stand in the response.
local records_expected = { fetch = 1, query = 20, save = 1, linked = 1, spoilt = 1, batch = 100 }

function init(arguments)
    work, record_type, rows = arguments[1], arguments[2], tonumber(arguments[3])
    math.randomseed(os.time() * 1000 + number * 7919)
    head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Skygear-API-Key: "
        .. arguments[4] .. "\r\nAuthorization: Bearer " .. arguments[5] .. "\r\nContent-Length: "
    -- wrk asks after init() whether there is a function of this name.
    if arguments[6] == "check" then response = check end
end

function request()
    return makers[work]()
end

function check(status, headers, body)
    -- One of twelve is to fail, and nothing else may.
    if work == "spoilt" and body:find('"error"', 1, true) then
        refused = refused + 1
        return
    end
    if status ~= 200 or body:find('"error"', 1, true) or not body:find('"result"', 1, true) then
        wrong = wrong + 1
        if wrong == 1 then first_wrong = status .. " " .. body:sub(1, 300) end
        return
    end
    -- Counting the records of one response in a hundred finds a short response without loading the measurement.
    responses = responses + 1
    if responses % 100 == 1 then
        local _, records = body:gsub('"_type":"record"', "")
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
    if work ~= "spoilt" then wrong_answers = wrong_answers + errors.status end
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
