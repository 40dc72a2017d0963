internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Converts the rows of a replication stream to record changes, with the columns and types that statements return.
struct ChangeDecoder {
    /// How the columns of a replicated table map to those of its record rows.
    fileprivate struct Mapping {
        let relation: ReplicationRelation
        let table: RecordTable
        let layout: PostgresRowLayout
        let columns: [Column]
        let id: Int
        /// The columns that are not replicated, and their expressions; empty if all columns are replicated.
        let computed: [ComputedColumn]
    }

    fileprivate struct ComputedColumn {
        let column: RecordColumn
        let definition: GeneratedColumn
    }

    /// The source of a column's value.
    fileprivate enum Column {
        /// This column, as it was sent.
        case same(Int)
        case converted(Int, NumberWidening)
        /// True if this column is not null.
        case presence(Int)
        /// True in every row.
        case constant
        /// The generated column at this index of `computed`; PostgreSQL does not replicate it.
        case computed(Int)
    }

    private let schema: String
    private var mappings: [PostgresOID: Mapping] = [:]

    init(schema: SQLIdentifier) {
        self.schema = schema.name
    }

    /// Returns the record type of a table; nil for other tables.
    func type(of relation: ReplicationRelation) -> RecordTypeName? {
        guard relation.schema == schema else { return nil }
        return try? RecordTypeName(relation.name)
    }

    /// Registers a table as it is replicated; returns false if the catalog has it in another form.
    ///
    /// - Parameters:
    ///   - generated: the generated columns, which PostgreSQL does not replicate.
    ///   - isPresent: whether the catalog was read after the change; a column missing from it is then dropped or not a field.
    mutating func accepts(
        _ relation: ReplicationRelation,
        as table: RecordTable,
        computing generated: [GeneratedColumn] = [],
        isPresent: Bool = false
    ) -> Bool {
        if let known = mappings[relation.oid], known.relation === relation, known.table === table { return true }
        guard let mapping = Self.mapping(relation, table, generated, isPresent) else { return false }
        mappings[relation.oid] = mapping
        return true
    }

    private static func mapping(
        _ relation: ReplicationRelation,
        _ table: RecordTable,
        _ generated: [GeneratedColumn],
        _ isPresent: Bool
    ) -> Mapping? {
        let sent = Dictionary(
            relation.columns.enumerated().map { ($1.name, (place: $0, type: $1.type)) },
            uniquingKeysWith: { first, _ in first }
        )
        let known = Set(table.columns.map(\.identifier.name) + ReservedColumn.allCases.map(\.rawValue))
        let isComplete = sent.keys.allSatisfy { name in
            isPresent || known.contains(name) || table.isUnlisted(name) || (try? FieldName(name)) == nil
        }
        // A table that replaced another one may have the same columns.
        guard isComplete, relation.oid.rawValue == table.oid, let id = sent["_id"]?.place else { return nil }
        var columns: [Column] = []
        var computed: [ComputedColumn] = []
        for (place, member) in table.wholeRow.plan.members.enumerated() {
            let name =
                member.reserved?.rawValue ?? table.columns[place - table.wholeRow.reservedWidth].identifier.name
            if member.kind == .relation {
                columns.append(.constant)
                continue
            }
            guard let found = sent[name] else {
                guard let expression = generated.first(where: { $0.name == name }),
                    expression.sources.keys.allSatisfy({ sent[$0] != nil })
                else { return nil }
                columns.append(.computed(computed.count))
                computed.append(
                    ComputedColumn(column: table.columns[place - table.wholeRow.reservedWidth], definition: expression)
                )
                continue
            }
            if member.kind == .unknown {
                columns.append(.presence(found.place))
            } else if found.type == member.kind.oid || member.kind == .location || member.kind == .geometry {
                // PostGIS sends its types in the form that its cast to `bytea` returns.
                columns.append(.same(found.place))
            } else if let widening = NumberWidening(from: found.type, to: member.kind.oid) {
                columns.append(.converted(found.place, widening))
            } else {
                return nil
            }
        }
        // Fields that rules name are selected after the members, and a whole row already contains all of them.
        guard columns.count == table.wholeRow.width else { return nil }
        return Mapping(
            relation: relation,
            table: table,
            layout: table.rowLayout,
            columns: columns,
            id: id,
            computed: computed
        )
    }

    // MARK: Columns that are not sent

    /// The number of rows that ``completion(of:)`` requests for a change: one for the new row, if any, and one for the old row,
    /// if all of it was sent. 0 if every column is replicated.
    func completedRows(of row: RowChange) -> Int {
        guard mappings[row.relation.oid]?.computed.isEmpty == false else { return 0 }
        return row.wholeTuples.count
    }

    /// Returns the statements that compute the columns that are not replicated, for changes of one table in their order.
    func completion(of rows: [RowChange]) -> [SQL] {
        guard let relation = rows.first?.relation, let mapping = mappings[relation.oid] else { return [] }
        var rest = rows.flatMap(\.wholeTuples)[...]
        var statements: [SQL] = []
        while !rest.isEmpty {
            // Powers of two keep the number of statement texts of a table small.
            var count = Self.completedAtOnce
            while count > rest.count { count /= 2 }
            statements.append(mapping.completion(of: rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return statements
    }

    private static let completedAtOnce = 64

    /// Returns the record of a change whose unchanged large (TOASTed) values are in neither the new nor the old row; nil if no
    /// value is missing, or if the id changed too.
    func incomplete(_ row: RowChange) -> (table: RecordTable, storedID: String)? {
        guard let mapping = mappings[row.relation.oid], row.old == nil, let new = row.new,
            (0..<new.count).contains(where: { new.form($0) == .unchanged }),
            let id = mapping.text(row.unsafeNewBytes(mapping.id))
        else { return nil }
        return (mapping.table, id)
    }

    /// Returns the record changes that a row change amounts to: two if the id changed, nil if the row data is insufficient.
    ///
    /// - Parameter whole: the rows that ``completion(of:)`` requested for it.
    func changes(_ row: RowChange, whole: [CompletedRow] = []) -> [RecordChange]? {
        guard let mapping = mappings[row.relation.oid] else { return [] }
        func rows(hasAfter: Bool = true, hasBefore: Bool = true) -> PostgresResult {
            self.rows(row, mapping, whole, hasAfter: hasAfter, hasBefore: hasBefore)
        }
        let before: ReplicationTuple? = if case .full(let tuple)? = row.old { tuple } else { nil }
        let oldID = row.old.flatMap { mapping.text($0.tuple.unsafeBytes(mapping.id)) }
        let newID = row.new == nil ? nil : mapping.text(row.unsafeNewBytes(mapping.id))
        let hasMissing = row.new.map { new in
            before == nil && (0..<new.count).contains { new.form($0) == .unchanged }
        }
        guard hasMissing != true else { return nil }
        if let oldID, let newID, oldID != newID {
            let deleted = RecordChange(
                of: mapping.table,
                storedID: oldID,
                before: before == nil ? .unknown(mayBeNew: false) : mapping.before(rows(hasAfter: false)),
                after: nil,
                rows: before == nil ? nil : rows(hasAfter: false)
            )
            let made = RecordChange(
                of: mapping.table,
                rows: rows(hasBefore: false),
                hasAfter: true,
                hasBefore: false,
                isInsert: true
            )
            return [deleted] + (made.map { [$0] } ?? [])
        }
        guard row.new != nil || before != nil else {
            return oldID.map {
                [RecordChange(deleting: $0, of: mapping.table)]
            } ?? []
        }
        let change = RecordChange(
            of: mapping.table,
            rows: rows(),
            hasAfter: row.new != nil,
            hasBefore: before != nil,
            isInsert: row.kind == .insert
        )
        return change.map { [$0] } ?? []
    }

    /// Returns the new row, if any, followed by the old row, if all of it was sent.
    private func rows(
        _ row: RowChange,
        _ mapping: Mapping,
        _ whole: [CompletedRow],
        hasAfter: Bool,
        hasBefore: Bool
    ) -> PostgresResult {
        let before: ReplicationTuple? = if hasBefore, case .full(let tuple)? = row.old { tuple } else { nil }
        let after = hasAfter ? row.new : nil
        let scratch = ScratchBytes()
        defer { withExtendedLifetime((row, scratch)) {} }
        return PostgresResult(
            rowCount: (after == nil ? 0 : 1) + (before == nil ? 0 : 1),
            of: mapping.layout
        ) { place, column in
            func value(_ sent: Int) -> UnsafeRawBufferPointer? {
                place == 0 && after != nil ? row.unsafeNewBytes(sent) : before?.unsafeBytes(sent)
            }
            switch mapping.columns[column] {
            case .same(let sent): return value(sent)
            case .converted(let sent, let widening): return value(sent).flatMap { widening.widened($0, in: scratch) }
            case .presence(let sent): return value(sent).map { _ in ScratchBytes.true }
            case .constant: return ScratchBytes.true
            case .computed(let column):
                let number = place == 0 && after != nil || row.new == nil ? 0 : 1
                guard whole.indices.contains(number) else { return nil }
                return whole[number].rows.withColumn(whole[number].row, column) { bytes in
                    bytes.map { scratch.keep(Array($0)) }
                }
            }
        }
    }
}

/// The columns of a row that are not replicated, in a row of a result.
struct CompletedRow {
    let rows: PostgresResult
    let row: Int
}

/// A column that PostgreSQL generates from others of its row.
struct GeneratedColumn: Sendable {
    let name: String
    /// The definition, in PostgreSQL's text.
    let expression: SQL
    /// The columns in the expression, with their collations, if any.
    private(set) var sources: [String: SQL?]

    /// Reads the generated columns of a table.
    static func all(of table: RecordTable, by client: PostgresClient) async throws -> [GeneratedColumn] {
        let result = try await client.read(
            """
            SELECT DISTINCT computed.attname::text,
                -- The text has no casts that PostgreSQL adds by itself.
                format('(%s)::%s', pg_get_expr(adbin, adrelid), format_type(computed.atttypid, computed.atttypmod)),
                source.attname::text,
                CASE WHEN source.attcollation <> 0 THEN source.attcollation::regcollation::text END
            FROM pg_catalog.pg_attribute AS computed
            JOIN pg_catalog.pg_attrdef ON adrelid = computed.attrelid AND adnum = computed.attnum
            -- PostgreSQL 14 notes of the column what is in the expression, later ones of the expression.
            LEFT JOIN pg_catalog.pg_depend ON refclassid = 'pg_catalog.pg_class'::regclass AND refobjid = adrelid
                AND refobjsubid <> adnum AND (
                    classid = 'pg_catalog.pg_attrdef'::regclass AND objid = pg_attrdef.oid
                    OR classid = 'pg_catalog.pg_class'::regclass AND objid = adrelid AND objsubid = adnum
                )
            LEFT JOIN pg_catalog.pg_attribute AS source
                ON source.attrelid = refobjid AND source.attnum = refobjsubid AND source.attnum > 0
            WHERE computed.attrelid = \(PostgresOID(rawValue: table.oid)) AND computed.attgenerated <> ''
                AND NOT computed.attisdropped
            """
        )
        var columns: [String: GeneratedColumn] = [:]
        for row in 0..<result.rowCount {
            let name = try result.decode(row: row, column: 0, as: String.self)
            // Both texts were produced by PostgreSQL from its catalog.
            let expression = SQL(trustedText: try result.decode(row: row, column: 1, as: String.self))
            let source = try result.decode(row: row, column: 2, as: String?.self)
            let collation = try result.decode(row: row, column: 3, as: String?.self).map { SQL(trustedText: $0) }
            columns[name, default: GeneratedColumn(name: name, expression: expression)].add(source, collation)
        }
        return Array(columns.values)
    }

    private init(name: String, expression: SQL) {
        self.name = name
        self.expression = expression
        sources = [:]
    }

    private mutating func add(_ source: String?, _ collation: SQL?) {
        if let source { sources[source] = .some(collation) }
    }
}

extension RowChange {
    /// The new row, if any, and the old row, if all of it was sent.
    fileprivate var wholeTuples: [(change: RowChange, isNew: Bool)] {
        var tuples = new == nil ? [] : [(change: self, isNew: true)]
        if case .full? = old { tuples.append((self, false)) }
        return tuples
    }

    /// Returns the bytes of a column in the new or the old row.
    fileprivate func unsafeBytes(_ column: Int, ofNew isNew: Bool) -> UnsafeRawBufferPointer? {
        isNew ? unsafeNewBytes(column) : old?.tuple.unsafeBytes(column)
    }
}

extension ChangeDecoder.Mapping {
    /// Returns the statement that computes the columns of some rows that are not replicated.
    fileprivate func completion(of tuples: some Collection<(change: RowChange, isNew: Bool)>) -> SQL {
        let sources: [String: SQL?] = computed.reduce(into: [:]) { known, column in
            known.merge(column.definition.sources) { first, _ in first }
        }
        let needed = relation.columns.enumerated().compactMap { place, column in
            // An expression may be constant, and a row needs at least one column.
            sources.keys.contains(column.name) || place == id
                ? (try? SQLIdentifier(column.name)).map { (place: place, column: column, identifier: $0) } : nil
        }
        let names = needed.map { "\($0.identifier)" as SQL }.joined(separator: ", ")
        let typed = needed.map { source -> SQL in
            guard let collation = sources[source.column.name] ?? nil else { return "\(source.identifier)" }
            return "\(source.identifier) COLLATE \(collation) AS \(source.identifier)"
        }
        let columns = computed.map { "\($0.definition.expression) AS \($0.column.identifier)" as SQL }
        let selection = computed.map { $0.column.selection(from: "r") }.joined(separator: ", ")
        var sql: SQL = """
            SELECT \(selection) FROM (SELECT \(columns.joined(separator: ", ")) \
            FROM (SELECT \(typed.joined(separator: ", ")) FROM (VALUES
            """
        var values = PostgresBindings()
        for (number, tuple) in tuples.enumerated() {
            sql += number == 0 ? " (" : ", ("
            for (place, source) in needed.enumerated() {
                if place > 0 { sql += ", " }
                sql.appendPlaceholder()
                values.append(source.column.type) { encoder throws(PostgresError) in
                    guard let bytes = tuple.change.unsafeBytes(source.place, ofNew: tuple.isNew) else { return false }
                    encoder.append(bytes: bytes)
                    return true
                }
            }
            sql += ")"
        }
        sql += ") AS sent (\(names))) AS sent) AS \"r\""
        return sql.binding(values)
    }

    fileprivate func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate func before(_ rows: PostgresResult) -> RecordChange.Before {
        StoredRecord(rows, row: 0, of: table).map { .row($0) } ?? .unknown(mayBeNew: false)
    }
}

extension RecordTable {
    /// Whether a column of the table is not in the catalog because it stores the words of a text.
    fileprivate func isUnlisted(_ name: String) -> Bool {
        columns.contains { $0.storedWords?.name == name }
    }
}

/// Owns converted bytes until they are copied.
private final class ScratchBytes {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    /// The wire form of `true`.
    nonisolated(unsafe) static let `true`: UnsafeRawBufferPointer = {
        let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        byte[0] = 1
        return UnsafeRawBufferPointer(byte)
    }()

    deinit {
        for block in blocks { block.deallocate() }
    }

    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        block.copyBytes(from: bytes)
        blocks.append(block)
        return UnsafeRawBufferPointer(block)
    }
}

/// Widens the narrower numbers of columns that psql created to those of fields, as the casts in statements do.
struct NumberWidening {
    private let element: Element
    private let isArray: Bool

    private enum Element {
        case int2, int4, float4

        var target: PostgresOID { self == .float4 ? .float8 : .int8 }

        func widened(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
            switch self {
            case .int2:
                guard bytes.count == 2 else { return nil }
                return Self.bytes(Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self))))
            case .int4:
                guard bytes.count == 4 else { return nil }
                return Self.bytes(Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))))
            case .float4:
                guard bytes.count == 4 else { return nil }
                let number = Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
                return Self.bytes(Int64(bitPattern: number.bitPattern))
            }
        }

        private static func bytes(_ integer: Int64) -> [UInt8] {
            withUnsafeBytes(of: integer.bigEndian) { Array($0) }
        }
    }

    /// nil if `type` is not a narrower form of `target`.
    init?(from type: PostgresOID, to target: PostgresOID) {
        switch (type, target) {
        case (.int2, .int8): (element, isArray) = (.int2, false)
        case (.int4, .int8): (element, isArray) = (.int4, false)
        case (.float4, .float8): (element, isArray) = (.float4, false)
        case (.int2Array, .int8Array): (element, isArray) = (.int2, true)
        case (.int4Array, .int8Array): (element, isArray) = (.int4, true)
        case (.float4Array, .float8Array): (element, isArray) = (.float4, true)
        default: return nil
        }
    }

    /// Returns nil for bytes that are not a value of the type.
    fileprivate func widened(_ bytes: UnsafeRawBufferPointer, in scratch: ScratchBytes) -> UnsafeRawBufferPointer? {
        widened(bytes).map { scratch.keep($0) }
    }

    func widened(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        guard isArray else { return element.widened(bytes) }
        // Dimensions, a flag and the element type; the length and lower bound of each dimension; then the elements.
        func integer(_ place: Int) -> Int32? {
            guard bytes.count >= place + 4 else { return nil }
            return Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int32.self))
        }
        guard let dimensions = integer(0), (0...6).contains(dimensions), bytes.count >= 12 + 8 * Int(dimensions) else {
            return nil
        }
        var widened = Array(bytes[..<8])
        withUnsafeBytes(of: element.target.rawValue.bigEndian) { widened += $0 }
        var place = 12 + 8 * Int(dimensions)
        widened += bytes[12..<place]
        while place < bytes.count {
            guard let length = integer(place) else { return nil }
            place += 4
            guard length >= 0 else {
                withUnsafeBytes(of: Int32(-1).bigEndian) { widened += $0 }
                continue
            }
            guard bytes.count >= place + Int(length),
                let value = element.widened(UnsafeRawBufferPointer(rebasing: bytes[place..<(place + Int(length))]))
            else { return nil }
            withUnsafeBytes(of: Int32(value.count).bigEndian) { widened += $0 }
            widened += value
            place += Int(length)
        }
        return widened
    }
}
