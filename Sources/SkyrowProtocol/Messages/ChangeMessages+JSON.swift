package import SkyrowJSON
package import SkyrowModel

extension ChangesRequest {
    /// Reads `changes:fetch`.
    package init(fetchParameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            database: try parameters.database(),
            query: try ChangeQuery(parameters, rules),
            position: try Position(parameters, takesToken: true),
            limit: try parameters.integer("limit", in: 1...Self.maximumLimit) ?? Self.defaultLimit,
            wait: try parameters.integer("wait", in: 0...Self.maximumWait).map { .seconds($0) },
            holding: try HeldRecords(parameters)
        )
    }

    /// Reads `changes:compare`.
    package init(compareParameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            database: try parameters.database(),
            query: try ChangeQuery(parameters, rules),
            position: try Position(parameters, takesToken: false),
            limit: try parameters.integer("limit", in: 1...Self.maximumPairs) ?? Self.maximumPairs
        )
    }
}

extension ChangeQuery {
    init(_ parameters: Parameters, _ rules: ReadingRules) throws(SkyrowError) {
        self.init(
            type: try parameters.recordType(),
            predicate: try condition(parameters, rules),
            desiredFields: try parameters.names("desired_keys")
        )
    }
}

extension ChangesRequest.Position {
    fileprivate init(_ parameters: Parameters, takesToken: Bool) throws(SkyrowError) {
        let since = takesToken ? try parameters.string("since") : nil
        switch (since, try parameters.string("cursor")) {
        case (nil, nil): self = .start
        case (let token?, nil): self = .since(token)
        case (nil, let cursor?): self = .cursor(cursor)
        case (_?, _?):
            throw .invalidArgument(
                "Send either \"since\" or \"cursor\": a cursor contains its token.",
                "cursor"
            )
        }
    }
}

extension HeldRecords {
    /// Reads `{"ids": ["note/7"]}` or `{"bits": base64, "hashes": 7}`.
    fileprivate init?(_ parameters: Parameters) throws(SkyrowError) {
        guard let object = try parameters.object("holding") else { return nil }
        let members = Parameters(object)
        if let ids = try members.array("ids") {
            guard ids.count <= Self.maximumIDs else { throw members.tooMany("ids", Self.maximumIDs) }
            var held: Set<TextKey> = []
            for id in ids.elements {
                guard let text = id.string else { throw members.wrongType("ids", "an array of strings") }
                held.insert(TextKey(text))
            }
            self = .ids(held)
            return
        }
        guard let bits = try members.string("bits"),
            let hashes = try members.integer("hashes", in: 1...BloomFilter.maximumHashes),
            bits.utf8.count <= BloomFilter.maximumBytes / 3 * 4 + 4, let bytes = decodeBase64(bits.utf8),
            let filter = BloomFilter(bytes: bytes, hashes: hashes)
        else {
            throw .invalidArgument(
                "\"holding\" must be {\"ids\": […]}, or a Bloom filter of up to a megabyte, {\"bits\": base64, \"hashes\": 7}.",
                "holding"
            )
        }
        self = .filter(filter)
    }
}

extension JSONWriter {
    /// `{"changed":[…],"removed":["note/7"],"token":"…","cursor":null,"more":false,"reset":null}`
    func changes(_ result: ChangesResult) {
        beginObject()
        key("changed")
        records(result.changed)
        key("removed")
        strings(result.removed)
        ending(token: result.token, cursor: result.cursor, reset: result.reset)
        endObject()
    }

    /// `{"records":[["1",812]],"token":"…","cursor":null,"more":false,"reset":null}`
    func compared(_ result: ComparedRecords) {
        beginObject()
        key("records")
        beginArray()
        for pair in result.pairs {
            beginArray()
            string(pair.id)
            integer(pair.revision)
            endArray()
        }
        endArray()
        ending(token: result.token, cursor: result.cursor, reset: result.reset)
        endObject()
    }

    private func ending(token: String?, cursor: String?, reset: ChangeReset?) {
        key("token")
        if let token { string(token) } else { null() }
        key("cursor")
        if let cursor { string(cursor) } else { null() }
        key("more")
        boolean(cursor != nil)
        key("reset")
        if let reset { string(reset.rawValue) } else { null() }
    }
}

// MARK: The client's side

extension JSONWriter {
    /// The parameters of `changes:fetch`, and of `changes:compare` where nothing is said that it does not take.
    package func changesParameters(_ request: ChangesRequest) {
        beginObject()
        databaseID(request.database)
        key("record_type")
        string(request.query.type.rawValue)
        if let predicate = request.query.predicate {
            key("predicate")
            self.predicate(predicate)
        }
        if let fields = request.query.desiredFields {
            key("desired_keys")
            strings(fields)
        }
        switch request.position {
        case .start: break
        case .since(let token):
            key("since")
            string(token)
        case .cursor(let cursor):
            key("cursor")
            string(cursor)
        }
        key("limit")
        integer(request.limit)
        if let wait = request.wait {
            key("wait")
            integer(Int(wait.components.seconds))
        }
        endObject()
    }
}
