-- How calls.lua asks PocketBase: the REST API of its records, and its batch API.

-- An id of PocketBase has 15 characters.
local function fresh_id()
    return string.format("1%07d%07d", math.random(0, 9999999), math.random(0, 9999999))
end

-- The works by name, each a function that makes a request.
local function requests(collection, rows, _, token)
    local path = "/api/collections/" .. collection .. "/records"
    local head = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: " .. token .. "\r\n"

    local function get(target)
        return "GET " .. target .. head .. "\r\n"
    end

    local function post(target, body)
        return "POST " .. target .. head .. "Content-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
    end

    local function new_record()
        local id = fresh_id()
        return '{"id":"' .. id .. '","title":"Item ' .. id .. '","grp":' .. math.random(1, 1000000)
            .. ',"score":0.5,"done":false,"due":"2026-03-01 09:00:00.000Z"}'
    end

    return {
        fetch = function()
            return get(path .. string.format("/%015d", 100000000000 + math.random(1, rows)))
        end,
        -- It is not asked for the number of all records either.
        query = function()
            return get(path .. "?filter=grp%3D" .. math.random(1, rows / 20) .. "&sort=title,id&perPage=20&skipTotal=1")
        end,
        save = function()
            return post(path, new_record())
        end,
        batch = function()
            local parts = {}
            for i = 1, 100 do parts[i] = '{"method":"POST","url":"' .. path .. '","body":' .. new_record() .. "}" end
            return post("/api/batch", '{"requests":[' .. table.concat(parts, ",") .. "]}")
        end,
    }
end

-- What stands in a response that has an error, in one that has none, and once in each record.
return { requests = requests, error = '"message"', result = '"id"', record = '"collectionName"' }
