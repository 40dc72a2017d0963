import SkyrowModel
import Testing

@testable import SkyrowQuery

/// What is behind a place in an order, for every direction, every place of what is missing and every missing value.
@Suite struct KeysetTests {
    private static let columns = ["stars", "score", "title"].map { name in
        ResolvedColumn(place: .field(field(name), position: 0), kind: .integer)
    }
    private static let id = ResolvedColumn(place: .metadata(.id), kind: .id(type("note")))
    private static let values: [ResolvedLiteral?] = [nil, .integer(1), .integer(2)]

    /// Every way to sort by three fields.
    static let sorts: [[ResolvedSort]] = {
        let choices = [SortKey.Direction.ascending, .descending].flatMap { direction in
            [SortKey.Nulls.first, .last].map { (direction, $0) }
        }
        return choices.flatMap { a in
            choices.flatMap { b in
                choices.map { c in
                    zip(columns, [a, b, c]).map { ResolvedSort($0, $1.0, $1.1) } + [ResolvedSort(id, c.0)]
                }
            }
        }
    }()

    private static let records: [StoredRecord] = {
        var records: [StoredRecord] = []
        for a in values {
            for b in values {
                for c in values {
                    var record = StoredRecord(type: type("note"), storedID: "\(records.count * 7 % 27)")
                    for (name, value) in zip(["stars", "score", "title"], [a, b, c]) {
                        record.fields[field(name)] = value.map { .scalar($0) }
                    }
                    records.append(record)
                }
            }
        }
        return records
    }()

    private static func query(_ sort: [ResolvedSort]) -> ResolvedQuery {
        ResolvedQuery(
            type: type("note"),
            sort: sort,
            inclusions: [],
            joins: [],
            visibility: ResolvedVisibility(RecordAccess(.master), of: type("note"), rules: [:]),
            limit: 0,
            offset: 0,
            countsMatches: false
        )
    }

    private static func value(_ key: ResolvedSort, of record: StoredRecord) -> ResolvedLiteral? {
        guard case .scalar(let value)? = record.value(of: key.column.place) else { return nil }
        return value
    }

    /// Whether a record is in a branch, as its SQL has it.
    private static func isIn(_ branch: Keyset.Branch, of keyset: Keyset, _ record: StoredRecord) -> Bool {
        for place in 0..<branch.equalKeys
        where value(keyset.sort[place], of: record) != keyset.values[place] { return false }
        let key = keyset.sort[branch.equalKeys]
        let value = value(key, of: record)
        switch branch.step {
        case .missing: return value == nil
        case .present: return value != nil
        case .beyond:
            guard let value, let limit = keyset.values[branch.equalKeys] else { return false }
            return ValueOrder(value, limit) == (key.direction == .ascending ? .greater : .less)
        }
    }

    @Test(arguments: KeysetTests.sorts)
    func theBranchesHoldWhatIsBehindAPlace(sort: [ResolvedSort]) {
        let interpreter = MemoryInterpreter(Self.query(sort))
        for place in Self.records {
            let keyset = Keyset(sort: sort, values: sort.map { Self.value($0, of: place) })
            for record in Self.records {
                let branches = keyset.branches.count { Self.isIn($0, of: keyset, record) }
                #expect(branches == (interpreter.isOrdered(place, record) ? 1 : 0), "\(record) behind \(place)")
            }
        }
    }

    @Test(arguments: KeysetTests.sorts)
    func theReversedOrderHasWhatIsBefore(sort: [ResolvedSort]) {
        let forward = MemoryInterpreter(Self.query(sort))
        let backward = MemoryInterpreter(Self.query(sort.map(\.reversed)))
        for a in Self.records {
            for b in Self.records { #expect(forward.isOrdered(a, b) == backward.isOrdered(b, a)) }
        }
    }

    @Test func theFormFollowsFromTheKeysAndTheIndexes() {
        typealias Row = (
            keys: [(SortKey.Direction, SortKey.Nulls?)], values: [ResolvedLiteral?], isIndexed: Bool, form: Keyset.Form
        )
        let one: ResolvedLiteral = .integer(1)
        let rows: [Row] = [
            // The id alone.
            ([], [], true, .row), ([], [], false, .row),
            // Newest first: what is missing is behind already.
            ([(.descending, nil)], [one], true, .row), ([(.descending, nil)], [one], false, .row),
            ([(.ascending, .first)], [one], false, .row),
            ([(.descending, nil), (.descending, nil)], [one, one], true, .row),
            // What is missing comes behind.
            ([(.ascending, nil)], [one], true, .branches), ([(.ascending, nil)], [one], false, .condition),
            ([(.descending, .last)], [one], true, .branches), ([(.descending, .last)], [one], false, .condition),
            // What is missing is at the place.
            ([(.descending, nil)], [nil], true, .branches), ([(.ascending, nil)], [nil], false, .condition),
            // Two directions.
            ([(.descending, nil), (.ascending, .first)], [one, one], true, .branches),
            ([(.descending, nil), (.ascending, .first)], [one, one], false, .condition),
        ]
        for row in rows {
            let sort = zip(Self.columns, row.keys).map { ResolvedSort($0, $1.0, $1.1) }
            let keyset = Keyset(
                sort: sort + [ResolvedSort(Self.id, sort.last?.direction ?? .ascending)],
                values: row.values + [.text("7")]
            )
            #expect(keyset.form(isIndexed: row.isIndexed, joins: 0, valueBytes: 0) == row.form, "\(row)")
        }
    }

    @Test func aLargeStatementIsNotRepeatedForEachBranch() {
        let ascending = Self.columns.map { ResolvedSort($0) } + [ResolvedSort(Self.id)]
        let keyset = Keyset(sort: ascending, values: [.integer(1), .integer(1), .integer(1), .text("7")])
        #expect(keyset.branches.count == 7)
        #expect(keyset.form(isIndexed: true, joins: 2, valueBytes: 65_536) == .branches)
        #expect(keyset.form(isIndexed: true, joins: 3, valueBytes: 0) == .condition)
        #expect(keyset.form(isIndexed: true, joins: 0, valueBytes: 65_537) == .condition)
        let four = [ResolvedSort(Self.columns[0], .descending, .last)] + ascending
        let long = Keyset(sort: four, values: [.integer(1), .integer(1), .integer(1), .integer(1), .text("7")])
        #expect(long.branches.count == 9)
        #expect(long.form(isIndexed: true, joins: 0, valueBytes: 0) == .condition)
    }

    @Test func metadataThatEveryRecordHasIsNeverMissing() {
        let created = ResolvedSort(ResolvedColumn(place: .metadata(.createdAt), kind: .datetime))
        let keyset = Keyset(
            sort: [created, ResolvedSort(Self.id)],
            values: [.datetime(Timestamp(microseconds: 1)), .text("7")]
        )
        #expect(keyset.form(isIndexed: false, joins: 0, valueBytes: 0) == .row)
        var behindAReference = created
        behindAReference.column.join = 0
        #expect(created.isNeverMissing && !behindAReference.isNeverMissing)
        #expect(!ResolvedSort(ResolvedColumn(place: .metadata(.owner), kind: .user)).isNeverMissing)
    }
}
