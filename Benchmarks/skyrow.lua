-- How calls.lua asks Skyrow: JSON-RPC over HTTP.

-- Eighteen random digits behind a one, as pgbench/save.sql draws them.
local function fresh_id()
    return string.format("1%09d%09d", math.random(0, 999999999), math.random(0, 999999999))
end

-- The works by name, each a function that makes a request.
local function requests(record_type, rows, api_key, token)
    local head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Skygear-API-Key: "
        .. api_key .. "\r\nAuthorization: Bearer " .. token .. "\r\nContent-Length: "

    local function post(params)
        local body = '{"jsonrpc":"2.0","id":1,"method":"' .. params .. "}"
        return head .. #body .. "\r\n\r\n" .. body
    end

    local function existing() return 100000000000 + math.random(1, rows) end

    -- With further members beside those that all records have.
    local function new_record(reference, further)
        local id = fresh_id()
        local link = reference and ',"item":{"$type":"ref","$id":"item/' .. reference .. '"}' or ""
        return '{"_id":"' .. record_type .. "/" .. id .. '","title":"Item ' .. id .. '","grp":' .. math.random(1, 1000000)
            .. ',"score":0.5,"done":false,"due":{"$type":"date","$date":"2026-03-01T09:00:00Z"}' .. link .. (further or "") .. "}"
    end

    local function path(name) return '{"$type":"keypath","$val":"' .. name .. '"}' end

    -- A page of 50 films by the given members, of a sort key in descending order.
    local function films(key, direction, members)
        return post('record:query","params":{"record_type":"film","sort":[[' .. path(key) .. ',"' .. direction
            .. '"]],"limit":50,' .. members .. "}")
    end

    local function of_a_group() return '["eq",' .. path("grp") .. "," .. math.random(1, rows / 20) .. "]" end

    -- A page of 20 records by a predicate.
    local function group(predicate)
        return post('record:query","params":{"record_type":"' .. record_type .. '","predicate":' .. predicate
            .. ',"sort":[[' .. path("title") .. ',"asc"]],"limit":20}')
    end

    local function of_a_year() return '"predicate":["eq",' .. path("year") .. "," .. math.random(1900, 2019) .. "]" end

    local linked = 0

    return {
        fetch = function()
            return post('record:fetch","params":{"ids":["' .. record_type .. "/" .. existing() .. '"]}')
        end,
        query = function() return group(of_a_group()) end,
        -- The same records by a function of the database, of works/functions.sh.
        of_group = function()
            return post('function:call","params":{"name":"of_group","args":{"wanted":' .. math.random(1, rows / 20) .. "}}")
        end,
        -- The same records by twenty conditions.
        conditions = function()
            local parts = { of_a_group() }
            for i = 1, 19 do parts[i + 1] = '["gte",' .. path("score") .. "," .. -i .. ".5]" end
            return group('["and",' .. table.concat(parts, ",") .. "]")
        end,
        save = function()
            return post('record:save","params":{"records":[' .. new_record() .. "]}")
        end,
        -- With an access list of three.
        guarded = function()
            local list = '[{"role":"staff","level":"read"},{"role":"press","level":"write"},{"user_id":"other","level":"read"}]'
            return post('record:save","params":{"records":[' .. new_record(nil, ',"_access":' .. list) .. "]}")
        end,
        linked = function()
            return post('record:save","params":{"records":[' .. new_record(existing()) .. "]}")
        end,
        -- Every twelfth save names a record that does not exist, as 4 of 48 clients would that do nothing else.
        spoilt = function()
            linked = linked + 1
            local reference = linked % 12 == 0 and "missing" or existing()
            return post('record:save","params":{"records":[' .. new_record(reference) .. "]}")
        end,
        batch = function()
            local records = {}
            for i = 1, 100 do records[i] = new_record() end
            return post('record:save","params":{"records":[' .. table.concat(records, ",") .. "]}")
        end,
        -- Those of works/queries.sh.
        filter = function() return films("rating", "desc", of_a_year()) end,
        prefix = function()
            local text = string.format("%x", math.random(16, 255))
            return films("title", "asc", '"predicate":["starts_with",' .. path("title") .. ',"' .. text .. '"]')
        end,
        path = function()
            local name = "Country " .. math.random(1, 100)
            return films("rating", "desc", '"predicate":["eq",' .. path("director.studio.country.name") .. ',"' .. name .. '"]')
        end,
        include = function()
            return films("rating", "desc", of_a_year() .. ',"include":{"director":' .. path("director") .. "}")
        end,
        keyset = function() return films("rating", "desc", '"after":"' .. os.getenv("CURSOR") .. '"') end,
        aggregate = function()
            return post('record:aggregate","params":{"record_type":"film","predicate":["gte",' .. path("rating") .. ","
                .. string.format("%.3f", 9.9 + math.random(0, 9) / 200) .. '],"group_by":{"year":' .. path("year")
                .. '},"aggregates":{"n":["count"],"mean":["avg",' .. path("rating") .. ']},"sort":[[' .. path("year")
                .. ',"asc"]],"limit":1000}')
        end,
        near = function()
            return post('record:query","params":{"record_type":"place","predicate":["near",' .. path("at") .. ',{"$type":"geo","$lng":'
                .. math.random(-179, 179) .. ',"$lat":' .. math.random(-84, 84) .. '}],"limit":50}')
        end,
        -- Two of two thousand words, of which a plot has eight.
        match = function()
            local word = math.random(0, 1999)
            return post('record:query","params":{"record_type":"film","predicate":["match",' .. path("plot") .. ',"word' .. word
                .. " or word" .. (word + 1) % 2000 .. '"],"limit":50}')
        end,
        members = function()
            return post('record:query","params":{"record_type":"person","predicate":["related_to",{"$type":"ref","$id":"film/f1"},"cast"],'
                .. '"limit":50}')
        end,
        relate = function()
            return post('record:save","params":{"return":"changed","records":[{"_id":"film/f' .. math.random(2, math.min(100000, rows))
                .. '","cast":{"$op":"relate","$val":[{"$type":"ref","$id":"person/p' .. math.random(1, 50000) .. '"}]}}]}')
        end,
        -- Those of works/feed.sh: what changed since a token.
        changes = function()
            return post('changes:fetch","params":{"record_type":"' .. record_type .. '","limit":1000,"since":"' .. os.getenv("CHANGES") .. '"}')
        end,
        unchanged = function()
            return post('changes:fetch","params":{"record_type":"' .. record_type .. '","limit":1000,"since":"' .. os.getenv("CHANGES") .. '"}')
        end,
        signup = function()
            return post('auth:signup","params":{"auth_data":{"username":"other"},"password":"' .. os.getenv("PASSWORD") .. '"}')
        end,
        increment = function()
            return post('record:save","params":{"return":"changed","records":[{"_id":"film/f1","votes":{"$op":"inc","$val":1}}]}')
        end,
    }
end

-- What stands in a response that has an error, in one that has none, and once in each record; and in those to what is not allowed, and to a
-- password that is too weak.
return { requests = requests, error = '"error"', forbidden = '"code":102', weak = '"PasswordBelowGuessableLevel"', result = '"result"', record = '"_type":"record"' }
