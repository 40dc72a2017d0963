package import SkyrowJSON
package import SkyrowModel

/// A question about the records of a database.
package struct Question<Query: Sendable>: Sendable {
    package var database: DatabaseName
    package var query: Query
    /// How to explain the query; nil to run it.
    package var explanation: ExplainMode?
    /// How long the database may work on it; nil for the service's own limit.
    package var timeLimit: Duration?

    package init(database: DatabaseName, query: Query, explanation: ExplainMode? = nil, timeLimit: Duration? = nil) {
        self.database = database
        self.query = query
        self.explanation = explanation
        self.timeLimit = timeLimit
    }
}

/// The records that `record:query` returns.
package typealias QueryRequest = Question<RecordQuery>
/// The groups of records that `record:aggregate` returns.
package typealias AggregateRequest = Question<AggregateQuery>

extension QueryRequest {
    static func form(_ rules: ReadingRules) -> Form<QueryRequest> {
        Form(
            members,
            read: { json throws(SkyrowError) in try QueryRequest(parameters: json, rules: rules) },
            write: { question, writer in writer.question(question) { writer.queryMembers($0) } }
        )
    }

    private static let members = [
        MemberDescription("record_type", "The record type; `_role` for roles.", .string(maximum: 63), isRequired: true),
        .database,
        MemberDescription("predicate", "The condition; without it, all records match.", .nullable(.named(.predicate))),
        MemberDescription(
            "sort",
            "The sort keys: a key path, a direction and, optionally, the place of missing values.",
            .nullable(sortKeys)
        ),
        MemberDescription(
            "include",
            "Referenced records and distances to return in _transient, by name: a key path, true for the key path of "
                + "that name, an object, or a function.",
            .nullable(.object([], others: .either([.named(.keyPath), .boolean, inclusion, .array(of: .any)])))
        ),
        MemberDescription(
            "include_form",
            "Where the included records are: nested in _transient, which is the default, or each once in a table beside the "
                + "records; JSON-RPC only.",
            .nullable(.oneOfStrings(IncludeForm.allCases.map(\.rawValue)))
        ),
        MemberDescription("select", "The fields to send; by default all.", names),
        MemberDescription("omit", "The fields to leave out, also metadata such as `_id`.", names),
        MemberDescription("desired_keys", "The same as `select`.", names),
        MemberDescription(
            "limit",
            "The number of records; 100 by default.",
            .nullable(.integer(minimum: 0, maximum: RecordQuery.maximumLimit))
        ),
        MemberDescription(
            "offset",
            "The number of records to skip.",
            .nullable(.integer(minimum: 0, maximum: RecordQuery.maximumOffset))
        ),
        MemberDescription("after", "A cursor; the page begins after its record.", .nullable(.string())),
        MemberDescription("before", "A cursor; the page ends before its record.", .nullable(.string())),
        MemberDescription("last", "Whether the page ends with the last record.", .nullable(.boolean)),
        MemberDescription("required", "Whether a page without records is an error.", .nullable(.boolean)),
        MemberDescription(
            "count",
            "Whether `info.count` is the number of records that match, or an estimate of it.",
            .nullable(.either([.boolean, .oneOfStrings(["estimate"])]))
        ),
        .explanation, .timeLimit,
    ]

    private static let names = JSONShape.nullable(.array(of: .string()))

    private static let sortKeys = JSONShape.array(
        of: .tuple(
            [.either([.named(.keyPath), .array(of: .any)]), .oneOfStrings(["asc", "desc"])],
            rest: .oneOfStrings(["nulls_first", "nulls_last"])
        )
    )

    /// An inclusion: `{"path": …, "limit": 20}`.
    private static let inclusion = JSONShape.object([
        JSONMember("path", .named(.keyPath), isRequired: true),
        JSONMember("select", names),
        JSONMember("omit", names),
        JSONMember("sort", .nullable(sortKeys)),
        JSONMember("limit", .nullable(.integer(minimum: 1, maximum: Inclusion.maximumLimit))),
        JSONMember("count", .nullable(.boolean)),
    ])
}

extension AggregateRequest {
    static func form(_ rules: ReadingRules) -> Form<AggregateRequest> {
        Form(
            members,
            read: { json throws(SkyrowError) in try AggregateRequest(parameters: json, rules: rules) },
            write: { question, writer in writer.question(question) { writer.aggregateMembers($0) } }
        )
    }

    private static let members = [
        .recordType, .database,
        MemberDescription("predicate", "The condition; without it, all records count.", .nullable(.named(.predicate))),
        MemberDescription(
            "group_by",
            "The keys of the groups, by name: key paths, or periods.",
            .nullable(.object([], others: .either([.named(.keyPath), timeBucket])))
        ),
        MemberDescription(
            "aggregates",
            "What to compute for each group, by name: a function and a key path.",
            .nullable(
                .object(
                    [],
                    others: .tuple([.oneOfStrings(Aggregate.Function.allCases.map(\.rawValue))], rest: .named(.keyPath))
                )
            )
        ),
        MemberDescription(
            "having",
            "The condition of a group, with the names of keys and aggregates in place of fields.",
            .nullable(.named(.predicate))
        ),
        MemberDescription(
            "sort",
            "The sort keys of the groups, with these names.",
            .nullable(
                .array(
                    of: .tuple(
                        [.named(.keyPath), .oneOfStrings(["asc", "desc"])],
                        rest: .oneOfStrings(["nulls_first", "nulls_last"])
                    )
                )
            )
        ),
        MemberDescription(
            "limit",
            "The number of groups; 100 by default.",
            .nullable(.integer(minimum: 0, maximum: AggregateQuery.maximumLimit))
        ),
        .explanation, .timeLimit,
    ]

    private static let timeBucket = JSONShape.object([
        JSONMember("bucket", .oneOfStrings(TimeBucket.Unit.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("of", .named(.keyPath), isRequired: true),
        JSONMember("time_zone", .nullable(.string(maximum: 255))),
    ])
}

// MARK: JSON

extension QueryRequest {
    /// Reads `record:query`.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            database: try parameters.database(),
            query: try RecordQuery(parameters, type: parameters.readableType(), rules: rules),
            explanation: try ExplainMode(parameters),
            timeLimit: try parameters.timeLimit()
        )
    }
}

extension AggregateRequest {
    /// Reads `record:aggregate`.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            database: try parameters.database(),
            query: try AggregateQuery(parameters, rules),
            explanation: try ExplainMode(parameters),
            timeLimit: try parameters.timeLimit()
        )
    }
}

extension ExplainMode {
    /// Reads `"explain": true` or `"analyze"`; nil where the query is executed.
    fileprivate init?(_ parameters: Parameters) throws(SkyrowError) {
        guard let value = parameters["explain"], value.boolean != false else { return nil }
        if value.boolean == true {
            self = .plan
        } else if value.string == ExplainMode.analyze.rawValue {
            self = .analyze
        } else {
            throw parameters.wrongType("explain", "true, false or \"analyze\"")
        }
    }
}

extension Parameters {
    /// `timeout_ms`
    fileprivate func timeLimit() throws(SkyrowError) -> Duration? {
        try integer("timeout_ms", in: 1...WireLimits.timeoutMilliseconds).map { .milliseconds($0) }
    }

    /// The type of records that are read, which roles may be.
    fileprivate func readableType() throws(SkyrowError) -> RecordTypeName {
        try RecordTypeName(readable: required("record_type", string("record_type")))
    }
}

extension JSONWriter {
    fileprivate func question<Query>(_ question: Question<Query>, _ members: (Query) -> Void) {
        beginObject()
        databaseID(question.database)
        members(question.query)
        if let explanation = question.explanation {
            key("explain")
            if explanation == .plan { boolean(true) } else { string(explanation.rawValue) }
        }
        if let timeLimit = question.timeLimit {
            let (seconds, attoseconds) = timeLimit.components
            member("timeout_ms", seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        }
        endObject()
    }
}
