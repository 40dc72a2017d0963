import SkyrowJSON
import SkyrowModel

extension RecordQuery {
    /// Whether the request has a parameter about the page beside limit and offset.
    var asksAboutThePage: Bool { position != .first || isRequired || counting != nil }
}

extension RecordQuery.Position {
    /// Reads `after`, `before` and `last`, of which a request has one at most.
    init(_ parameters: Parameters) throws(SkyrowError) {
        let after = try parameters.cursor("after")
        let before = try parameters.cursor("before")
        let isLast = try parameters.boolean("last") ?? false
        switch (after, before, isLast) {
        case (nil, nil, false): self = .first
        case (nil, nil, true): self = .last
        case (let cursor?, nil, false): self = .after(cursor)
        case (nil, let cursor?, false): self = .before(cursor)
        case (_, _, true): throw Parameters.oneOfPositions("last")
        case (_, _, false): throw Parameters.oneOfPositions("before")
        }
    }
}

extension RecordQuery.Counting {
    /// Reads `count`; nil where nothing is counted.
    init?(_ parameters: Parameters) throws(SkyrowError) {
        guard let count = parameters["count"] else { return nil }
        if count.equals("estimate") {
            self = .estimate
        } else if let isCounted = count.boolean {
            guard isCounted else { return nil }
            self = .exact
        } else {
            throw parameters.wrongType("count", "true, false or \"estimate\"")
        }
    }
}

extension Parameters {
    fileprivate func cursor(_ name: StaticString) throws(SkyrowError) -> String? {
        guard let text = try string(name) else { return nil }
        guard text.utf8.count <= WireLimits.cursorBytes else { throw .cursorInvalid("\(name)") }
        return text
    }

    fileprivate static func oneOfPositions(_ name: String) -> SkyrowError {
        .invalidArgument("Send only one of \"after\", \"before\" and \"last\".", name).at(name)
    }
}

extension SortKey {
    /// Reads a key path with a direction and perhaps the place of what is missing; the path of an error begins behind
    /// `sort[n]`.
    init(_ json: JSONView) throws(SkyrowError) {
        var parts = json.elements
        guard json.count == 2 || json.count == 3, let expression = parts.next(), let direction = parts.next() else {
            throw .invalidArgument(
                "A sort key must be a key path with \"asc\" or \"desc\", and optionally \"nulls_first\" or \"nulls_last\".",
                "sort"
            )
        }
        let path: FieldPath
        var function: FieldFunction?
        do throws(SkyrowError) {
            if expression.firstElement?.equals("func") ?? false {
                let named = try FunctionOfPath(expression)
                path = named.path
                function = named.function
            } else {
                path = try SkyrowProtocol.keyPath(expression, "sort")
            }
        } catch {
            throw error.at(0)
        }
        guard let direction = direction.string.flatMap({ Direction(rawValue: $0) }) else {
            throw .invalidArgument("The direction of a sort key must be \"asc\" or \"desc\".", "sort").at(1)
        }
        guard let last = parts.next() else {
            self.init(path, direction)
            self.function = function
            return
        }
        guard let nulls = last.string.flatMap({ Nulls(rawValue: $0) }) else {
            throw .invalidArgument("The place of missing values must be \"nulls_first\" or \"nulls_last\".", "sort").at(
                2
            )
        }
        self.init(path, direction, nulls)
        self.function = function
    }
}

extension JSONWriter {
    /// The member `sort`, unless it is empty.
    func sort(_ keys: [SortKey]) {
        guard !keys.isEmpty else { return }
        beginArray("sort")
        for sortKey in keys {
            beginArray()
            keyPath(sortKey.keyPath, sortKey.function)
            string(sortKey.direction.rawValue)
            if let nulls = sortKey.nulls { string(nulls.rawValue) }
            endArray()
        }
        endArray()
    }

    /// The members about the page of `record:query`, beside limit and offset.
    func pagingMembers(_ query: RecordQuery) {
        switch query.position {
        case .first: break
        case .last: member("last", true)
        case .after(let cursor): member("after", cursor)
        case .before(let cursor): member("before", cursor)
        }
        if query.isRequired { member("required", true) }
        switch query.counting {
        case nil: break
        case .exact: member("count", true)
        case .estimate: member("count", "estimate")
        }
    }

    /// `"info":{"count":42,"cursor":"…","has_more":true}`
    func pageInfo(_ query: QueryResult) {
        beginObject("info")
        if let count = query.count { member("count", count) }
        if let kind = query.countKind { member("count_kind", kind.rawValue) }
        key("cursor")
        if let cursor = query.cursor { string(cursor) } else { null() }
        member("has_more", query.hasMore)
        endObject()
    }
}
