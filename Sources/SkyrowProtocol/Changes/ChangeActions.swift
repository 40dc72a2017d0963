import SkyrowJSON
package import SkyrowModel

/// The records that a client of the change feed keeps: those of a type that match a predicate.
package struct ChangeQuery: Hashable, Sendable {
    package var type: RecordTypeName
    /// nil for all records of the type.
    package var predicate: RecordPredicate?
    /// The user fields to send; nil for all of them.
    package var desiredFields: [String]?

    package init(type: RecordTypeName, predicate: RecordPredicate? = nil, desiredFields: [String]? = nil) {
        self.type = type
        self.predicate = predicate
        self.desiredFields = desiredFields
    }
}

/// What `changes:fetch` returns, or `changes:compare`, which has no token, waiting time or held records.
package struct ChangesRequest: Sendable {
    /// Where a client continues.
    package enum Position: Hashable, Sendable {
        /// The client has nothing.
        case start
        /// The client has everything up to a change token.
        case since(String)
        /// The client is inside a pass.
        case cursor(String)
    }

    package static let defaultLimit = 100
    package static let maximumLimit = 1000
    package static let maximumPairs = 5000
    /// In seconds.
    fileprivate static let maximumWait = 30

    package var database: DatabaseName
    package var query: ChangeQuery
    package var position: Position
    package var limit: Int
    /// How long to wait for the first change.
    package var wait: Duration?
    /// The records that the client holds; nil when it does not say.
    package var holding: HeldRecords?

    package init(
        database: DatabaseName,
        query: ChangeQuery,
        position: Position = .start,
        limit: Int = ChangesRequest.defaultLimit,
        wait: Duration? = nil,
        holding: HeldRecords? = nil
    ) {
        self.database = database
        self.query = query
        self.position = position
        self.limit = limit
        self.wait = wait
        self.holding = holding
    }
}

extension Actions {
    /// What changed in the records of a query since a change token.
    package static let changesFetch = Action<ChangesRequest, ChangesResult>(
        "changes:fetch",
        "Returns the changes since a token in the records of one type that match a predicate; without a token, all records.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        narrowing: ResultNarrowing(
            parameters: ["limit", "desired_keys"],
            advice: "lower limit, or name fewer desired_keys"
        ),
        errors: errorsOfChanges,
        ChangesRequest.fetchForm(.rpc),
        v1: ChangesRequest.fetchForm(.v1),
        result: .changes
    )

    /// The ids and revisions of all records of a query.
    package static let changesCompare = Action<ChangesRequest, ComparedRecords>(
        "changes:compare",
        "Returns the ids and revisions of the records of one type that match a predicate, which a client compares with its own.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "lower limit"),
        errors: errorsOfChanges,
        ChangesRequest.compareForm(.rpc),
        v1: ChangesRequest.compareForm(.v1),
        result: .compared
    )

    private static let errorsOfChanges: [ErrorCode] = [
        .permissionDenied, .resourceNotFound, .notSupported, .recordQueryInvalid, .recordQueryDenied, .invalidToken,
    ]
}

// MARK: Parameters

extension ChangesRequest {
    fileprivate static func fetchForm(_ rules: ReadingRules) -> Form<ChangesRequest> {
        let members = [
            MemberDescription("since", "The change token from which the client continues.", .nullable(.string())),
            cursor,
            MemberDescription(
                "limit",
                "The number of changed records, and of removed ids; 100 by default. A page also ends at 1 MB.",
                .nullable(.integer(minimum: 1, maximum: maximumLimit))
            ),
            MemberDescription(
                "wait",
                "With `since`, the number of seconds to wait for the first change.",
                .nullable(.integer(minimum: 0, maximum: maximumWait))
            ),
            MemberDescription(
                "holding",
                "The records that the client has, so that only their removal is reported: ids, or a Bloom filter.",
                .nullable(HeldRecords.shape)
            ),
        ]
        return form(members, rules, limit: defaultLimit, atMost: maximumLimit) {
            parameters,
            request throws(SkyrowError) in
            if let token = try parameters.string("since") {
                guard request.position == .start else {
                    throw .invalidArgument(
                        "Send either \"since\" or \"cursor\": a cursor contains its token.",
                        "cursor"
                    )
                }
                request.position = .since(token)
            }
            request.wait = try parameters.integer("wait", in: 0...maximumWait).map { .seconds($0) }
            request.holding = try parameters.object("holding").map { json throws(SkyrowError) in try HeldRecords(json) }
        }
    }

    fileprivate static func compareForm(_ rules: ReadingRules) -> Form<ChangesRequest> {
        let limit = MemberDescription(
            "limit",
            "The number of records; 5000 by default.",
            .nullable(.integer(minimum: 1, maximum: maximumPairs))
        )
        return form([cursor, limit], rules, limit: maximumPairs, atMost: maximumPairs)
    }

    /// - Parameter readMore: reads the members that only one of the actions has.
    private static func form(
        _ members: [MemberDescription],
        _ rules: ReadingRules,
        limit: Int,
        atMost maximum: Int,
        _ readMore: @escaping @Sendable (Parameters, inout ChangesRequest) throws(SkyrowError) -> Void = { _, _ in }
    ) -> Form<ChangesRequest> {
        Form(kept + members) { json throws(SkyrowError) in
            let parameters = Parameters(json)
            var request = ChangesRequest(
                database: try parameters.database(),
                query: ChangeQuery(
                    type: try parameters.recordType(),
                    predicate: try condition(parameters, rules),
                    desiredFields: try parameters.names("desired_keys")
                ),
                position: try parameters.string("cursor").map { .cursor($0) } ?? .start,
                limit: try parameters.integer("limit", in: 1...maximum) ?? limit
            )
            try readMore(parameters, &request)
            return request
        } write: { request, writer in
            request.write(to: writer)
        }
    }

    private static let kept = [
        .recordType,
        MemberDescription(
            "database_id",
            "The database: `_public`, which is the default, `_private`, or a user id.",
            .nullable(.string(maximum: 255))
        ),
        .recordCondition, .desiredKeys,
    ]

    private static let cursor = MemberDescription(
        "cursor",
        "The cursor of the previous page, in place of `since`.",
        .nullable(.string())
    )

    private func write(to writer: JSONWriter) {
        writer.beginObject()
        writer.databaseID(database)
        writer.recordType(query.type, matching: query.predicate)
        writer.desiredKeys(query.desiredFields)
        switch position {
        case .start: break
        case .since(let token): writer.member("since", token)
        case .cursor(let cursor): writer.member("cursor", cursor)
        }
        writer.member("limit", limit)
        if let wait {
            writer.key("wait")
            // Less than a second would become none, and the client would ask again at once.
            writer.integer(wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
        }
        if let holding {
            writer.key("holding")
            holding.write(to: writer)
        }
        writer.endObject()
    }
}

extension HeldRecords {
    fileprivate static let shape = JSONShape.either([
        .object([JSONMember("ids", .array(of: .named(.recordID)), isRequired: true)]),
        .object([
            JSONMember("bits", .string(), isRequired: true),
            JSONMember("hashes", .integer(minimum: 1, maximum: BloomFilter.maximumHashes), isRequired: true),
        ]),
    ])

    /// Reads `{"ids": ["note/7"]}` or `{"bits": base64, "hashes": 7}`.
    fileprivate init(_ json: JSONView) throws(SkyrowError) {
        let members = Parameters(json)
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

    fileprivate func write(to writer: JSONWriter) {
        writer.beginObject()
        switch self {
        case .ids(let ids):
            writer.member("ids", ids.sorted().map(\.text))
        case .filter(let filter):
            writer.member("bits", encodeBase64(filter.bytes))
            writer.member("hashes", filter.hashes)
        }
        writer.endObject()
    }
}
