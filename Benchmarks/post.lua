-- wrk's side of one call over and over. Arguments: the body, a text that must stand in each response, "check" to look into the
-- responses, and header fields, each a name and a value.

local threads = {}
local expected

-- Globals, because done() reads them off each thread.
wrong, first_wrong = 0, ""

function setup(thread) table.insert(threads, thread) end

function init(arguments)
    wrk.method = "POST"
    wrk.body = arguments[1]
    wrk.headers["Content-Type"] = "application/json"
    expected = arguments[2]
    for i = 4, #arguments, 2 do wrk.headers[arguments[i]] = arguments[i + 1] end
    -- wrk asks after init() whether there is a function of this name.
    if arguments[3] == "check" then response = check end
end

function check(status, headers, body)
    if status == 200 and body:find(expected, 1, true) then return end
    wrong = wrong + 1
    if wrong == 1 then first_wrong = status .. " " .. body:sub(1, 300) end
end

function done(summary, latency)
    local errors = summary.errors
    local count, first = errors.status + errors.timeout + errors.connect + errors.write, ""
    for _, thread in ipairs(threads) do
        count = count + thread:get("wrong")
        if first == "" then first = thread:get("first_wrong") end
    end
    io.write(string.format("MEASURED %d %d %d %d\n", summary.requests, summary.duration, count, latency:percentile(50)))
    if count > 0 then io.write("WRONG " .. first .. "\n") end
end
