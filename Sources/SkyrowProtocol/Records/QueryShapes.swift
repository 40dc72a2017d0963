package import SkyrowJSON
public import SkyrowModel

/// The answer to a query: what is found, or with `explain` how that would be.
package enum QueryAnswer<Found: Sendable>: Sendable {
    case found(Found)
    case explanation(QueryExplanation)
}

extension Codec<QueryAnswer<QueryResult>> {
    static let page = Codec(
        .object([
            JSONMember("records", .array(of: .named(.record)), isRequired: true),
            JSONMember("included", .object([], others: .named(.record))),
            JSONMember(
                "info",
                .object([
                    JSONMember("count", .integer(minimum: 0)),
                    JSONMember("count_kind", .oneOfStrings(["exact", "estimate", "at_least"])),
                    JSONMember("cursor", .nullable(.string()), isRequired: true),
                    JSONMember("has_more", .boolean, isRequired: true),
                ])
            ),
        ])
    ) { json, _ throws(SkyrowError) in
        .found(try QueryResult(json))
    } write: { answer, writer in
        switch answer {
        case .found(let page):
            writer.beginObject()
            writer.key("records")
            writer.records(page.records)
            if let included = page.included { writer.included(included) }
            writer.pageInfo(page)
            writer.endObject()
        case .explanation(let explanation): writer.explanation(explanation)
        }
    }

    /// In the envelope of v1 the records are the result, and `info` is beside it.
    static func writeV1(_ answer: QueryAnswer<QueryResult>, _ writer: JSONWriter) {
        switch answer {
        case .found(let page):
            writer.records(page.records)
            if page.isDescribed { writer.pageInfo(page) }
        case .explanation(let explanation): writer.explanation(explanation)
        }
    }
}

extension QueryResult {
    fileprivate init(_ json: JSONView) throws(SkyrowError) {
        var table: [RecordID: Record] = [:]
        for (id, record) in json["included"]?.uniqueMembers ?? [] { table[try RecordID(id)] = try Record(record) }
        var records: [Record] = []
        for record in json["records"].map({ Array($0.elements) }) ?? [] {
            records.append(try Record(record, included: table))
        }
        let info = json["info"]
        self.init(
            records: records,
            count: info?["count"]?.wholeNumber.flatMap { Int(exactly: $0) },
            countKind: info?["count_kind"]?.string.flatMap { CountKind(rawValue: $0) },
            hasMore: info?["has_more"]?.boolean ?? false,
            cursor: info?["cursor"]?.string
        )
        included = table.map { IncludedRecord(id: $0.key.description, source: $0.value) }
    }
}

// MARK: Groups

/// The result of an `AggregateQuery`.
public struct AggregateGroups: Hashable, Sendable {
    public var groups: [AggregateGroup]
    /// Whether the limit left out further groups.
    public var hasMore = false

    package init(groups: [AggregateGroup], hasMore: Bool = false) {
        self.groups = groups
        self.hasMore = hasMore
    }
}

extension AggregateGroups {
    /// Reads the result of `record:aggregate`.
    package init(_ json: JSONView) throws(SkyrowError) {
        var groups: [AggregateGroup] = []
        for group in json["groups"].map({ Array($0.elements) }) ?? [] { groups.append(try AggregateGroup(group)) }
        self.init(groups: groups, hasMore: json["info"]?["has_more"]?.boolean ?? false)
    }
}

/// The keys and aggregates of one group, by name.
public struct AggregateGroup: Hashable, Sendable {
    private var values: [String: RecordValue] = [:]
    /// The sums that exceed 64 bits.
    private var longSums: [String: String] = [:]

    package init(_ json: JSONView) throws(SkyrowError) {
        for (name, value) in json.uniqueMembers {
            if value.kind == .integer, value.number == .outOfRange {
                longSums[name] = String(decoding: value.source, as: UTF8.self)
            } else {
                values[name] = try RecordValue(value, field: name)
            }
        }
    }

    /// The value under a name; nil when the records of the group have no value, and for a sum that exceeds 64 bits.
    public subscript(name: String) -> RecordValue? { values[name] }

    /// The digits of a sum of integers of any size; nil for any other value.
    public func digits(of name: String) -> String? {
        if case .integer(let sum)? = values[name] { return "\(sum)" }
        return longSums[name]
    }
}

extension AggregateGroup: RecordSource {
    package func emit(into sink: inout some RecordSink) {
        sink.beginRecord()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            value.withBorrowed { sink.member(MemberKey(name), $0) }
        }
        for (name, digits) in longSums { digits.withBytes { sink.member(MemberKey(name), .json($0)) } }
        sink.endRecord()
    }
}

extension Codec<QueryAnswer<AggregateResult>> {
    /// `{"groups": […], "info": {"has_more": false}}`
    static let groups = Codec(
        .object([
            JSONMember("groups", .array(of: .object([], others: .named(.value))), isRequired: true),
            JSONMember("info", .object([JSONMember("has_more", .boolean, isRequired: true)]), isRequired: true),
        ])
    ) { json, _ throws(SkyrowError) in
        let read = try AggregateGroups(json)
        return .found(AggregateResult(groups: read.groups, hasMore: read.hasMore))
    } write: { answer, writer in
        switch answer {
        case .found(let result): writer.groups(result)
        case .explanation(let explanation): writer.explanation(explanation)
        }
    }
}

extension JSONWriter {
    /// The result of a query with `explain`.
    fileprivate func explanation(_ explanation: QueryExplanation) {
        beginObject()
        beginArray("statements")
        for statement in explanation.statements {
            beginObject()
            member("sql", statement.sql)
            member("values", statement.values)
            key("plan")
            json(statement.plan)
            member("rows_estimated", statement.rowsEstimated)
            endObject()
        }
        endArray()
        beginArray("advice")
        for advice in explanation.advice {
            beginObject()
            member("reason", advice.reason.rawValue)
            member("message", advice.message)
            if let index = advice.index {
                key("schema:index:create")
                indexDefinition(index)
            }
            endObject()
        }
        endArray()
        member("cost_class", explanation.costClass.rawValue)
        endObject()
    }
}
