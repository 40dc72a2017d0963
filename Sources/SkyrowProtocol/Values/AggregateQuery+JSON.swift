package import SkyrowJSON
package import SkyrowModel

extension AggregateQuery {
    init(_ parameters: Parameters, _ rules: ReadingRules) throws(SkyrowError) {
        self.init(
            type: try parameters.recordType(),
            predicate: try condition(parameters, rules),
            groupKeys: try readGroupKeys(parameters),
            aggregates: try readAggregates(parameters),
            having: try readHaving(parameters),
            sort: try sortKeys(parameters),
            limit: try parameters.integer("limit", in: 0...AggregateQuery.maximumLimit) ?? AggregateQuery.defaultLimit
        )
    }
}

private func readGroupKeys(_ parameters: Parameters) throws(SkyrowError) -> [GroupKey] {
    guard let object = try parameters.object("group_by") else { return [] }
    guard object.count <= AggregateQuery.maximumGroupKeys else {
        throw parameters.tooMany("group_by", AggregateQuery.maximumGroupKeys).at("group_by")
    }
    var keys: [GroupKey] = []
    for (name, json) in object.uniqueMembers {
        do throws(SkyrowError) { keys.append(try GroupKey(name, json)) } catch {
            throw error.at("group_by.\(excerpt(of: name))")
        }
    }
    return keys
}

extension GroupKey {
    /// Reads a key path, or `{"bucket": "month", "of": key path, "time_zone": "Europe/Warsaw"}`.
    fileprivate init(_ name: String, _ json: JSONView) throws(SkyrowError) {
        guard json.isObject, let bucket = json["bucket"] else {
            self.init(name, try SkyrowProtocol.keyPath(json, "group_by"))
            return
        }
        guard let unit = bucket.string.flatMap({ TimeBucket.Unit(rawValue: $0) }) else {
            let names = TimeBucket.Unit.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw .invalidArgument("A bucket must be one of \(names).", "group_by").at(".bucket")
        }
        guard let of = json["of"] else {
            throw .invalidArgument("A bucket requires a key path in \"of\".", "group_by").at(".of")
        }
        let path: FieldPath
        do throws(SkyrowError) { path = try SkyrowProtocol.keyPath(of, "group_by") } catch { throw error.at(".of") }
        var zone = "UTC"
        if let json = json["time_zone"], !json.isNull {
            guard let text = json.string, text.isName else {
                throw .invalidArgument("A time zone must be a name such as \"Europe/Warsaw\".", "group_by").at(
                    ".time_zone"
                )
            }
            zone = text
        }
        self.init(name, path, in: TimeBucket(unit, timeZone: zone))
    }
}

private func readAggregates(_ parameters: Parameters) throws(SkyrowError) -> [Aggregate] {
    guard let object = try parameters.object("aggregates") else { return [] }
    guard object.count <= AggregateQuery.maximumAggregates else {
        throw parameters.tooMany("aggregates", AggregateQuery.maximumAggregates).at("aggregates")
    }
    var aggregates: [Aggregate] = []
    for (name, json) in object.uniqueMembers {
        do throws(SkyrowError) { aggregates.append(try Aggregate(name, json)) } catch {
            throw error.at("aggregates.\(excerpt(of: name))")
        }
    }
    return aggregates
}

extension Aggregate {
    /// Reads `["count"]`, or a function with a key path, `["sum", key path]`.
    fileprivate init(_ name: String, _ json: JSONView) throws(SkyrowError) {
        guard json.isArray, 1...2 ~= json.count, let first = json.firstElement else {
            throw .invalidArgument("An aggregate must be a function with a key path, or [\"count\"].", "aggregates")
        }
        guard let function = first.string.flatMap({ Function(rawValue: $0) }) else {
            let names = Function.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw .invalidArgument("The function of an aggregate must be one of \(names).", "aggregates").at(0)
        }
        var elements = json.elements
        _ = elements.next()
        var path: FieldPath?
        if let json = elements.next() {
            do throws(SkyrowError) { path = try SkyrowProtocol.keyPath(json, "aggregates") } catch { throw error.at(1) }
        }
        self.init(name, function, path)
    }
}

private func readHaving(_ parameters: Parameters) throws(SkyrowError) -> RecordPredicate? {
    guard let json = parameters["having"] else { return nil }
    // A sum may be beyond 64 bits; what it is compared with is not, as for fields.
    for part in json.descendants {
        guard case .double(let number) = part.number, abs(number) >= 0x1p63 else { continue }
        throw .invalidArgument("Groups can only be compared with 64-bit numbers.", "having").at("having")
    }
    return try RecordPredicate(json, named: "having")
}

extension RecordPredicate {
    /// Reads one that stands under another name than `predicate`, which errors have in its place.
    init(_ json: JSONView, named name: String) throws(SkyrowError) {
        do throws(SkyrowError) { try self.init(json) } catch {
            guard let path = error.path, path.hasPrefix("predicate") else { throw error }
            throw error.replacingPath(with: name + path.dropFirst("predicate".count))
        }
    }
}

extension JSONWriter {
    func aggregateMembers(_ query: AggregateQuery) {
        recordType(query.type, matching: query.predicate)
        if !query.groupKeys.isEmpty {
            beginObject("group_by")
            for groupKey in query.groupKeys { write(groupKey) }
            endObject()
        }
        if !query.aggregates.isEmpty {
            beginObject("aggregates")
            for aggregate in query.aggregates {
                key(aggregate.name)
                beginArray()
                string(aggregate.function.rawValue)
                if let path = aggregate.keyPath { keyPath(path) }
                endArray()
            }
            endObject()
        }
        if let having = query.having {
            key("having")
            predicate(having)
        }
        self.sort(query.sort)
        member("limit", query.limit)
    }

    private func write(_ groupKey: GroupKey) {
        key(groupKey.name)
        guard let bucket = groupKey.bucket else {
            keyPath(groupKey.keyPath)
            return
        }
        beginObject()
        member("bucket", bucket.unit.rawValue)
        key("of")
        keyPath(groupKey.keyPath)
        member("time_zone", bucket.timeZone)
        endObject()
    }

    /// The result of `record:aggregate`: `{"groups":[…],"info":{"has_more":false}}`
    package func groups(_ result: AggregateResult) {
        beginObject()
        key("groups")
        records(result.groups)
        beginObject("info")
        member("has_more", result.hasMore)
        endObject()
        endObject()
    }
}
