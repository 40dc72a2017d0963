internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Makes changes of records of the rows of a replication stream, in the columns and types in which statements have them.
struct ChangeDecoder {
    /// How the columns of a table as it is sent become those of its rows.
    fileprivate struct Mapping {
        let relation: ReplicationRelation
        let table: RecordTable
        let layout: PostgresRowLayout
        let columns: [Column]
        let id: Int
    }

    /// Where the value of a column comes from.
    fileprivate enum Column {
        /// From this column, as it was sent.
        case same(Int)
        case converted(Int, NumberWidening)
        /// True where this column has a value.
        case presence(Int)
        /// True in every row.
        case constant
    }

    private let schema: String
    private var mappings: [PostgresOID: Mapping] = [:]

    init(schema: SQLIdentifier) {
        self.schema = schema.name
    }

    /// The record type whose table it is; nil for another table.
    func type(of relation: ReplicationRelation) -> RecordTypeName? {
        guard relation.schema == schema else { return nil }
        return try? RecordTypeName(relation.name)
    }

    /// Takes a table as it is sent; false where the catalogue has another form of it.
    mutating func accepts(_ relation: ReplicationRelation, as table: RecordTable) -> Bool {
        if let known = mappings[relation.oid], known.relation === relation, known.table === table { return true }
        guard let mapping = Self.mapping(relation, table) else { return false }
        mappings[relation.oid] = mapping
        return true
    }

    private static func mapping(_ relation: ReplicationRelation, _ table: RecordTable) -> Mapping? {
        let sent = Dictionary(
            relation.columns.enumerated().map { ($1.name, (place: $0, type: $1.type)) },
            uniquingKeysWith: { first, _ in first }
        )
        let known = Set(table.columns.map(\.identifier.name) + ReservedColumn.allCases.map(\.rawValue))
        let isComplete = sent.keys.allSatisfy { known.contains($0) || table.isUnlisted($0) }
        guard isComplete, let id = sent["_id"]?.place else { return nil }
        var columns: [Column] = []
        for (place, member) in table.wholeRow.plan.members.enumerated() {
            let name =
                place < table.wholeRow.reservedWidth
                ? member.reservedColumn : table.columns[place - table.wholeRow.reservedWidth].identifier.name
            if member.kind == .relation {
                columns.append(.constant)
                continue
            }
            guard let found = sent[name] else { return nil }
            if member.kind == .unknown {
                columns.append(.presence(found.place))
            } else if found.type == member.kind.oid || member.kind == .location || member.kind == .geometry {
                // PostGIS sends its types in the form that it casts to bytes.
                columns.append(.same(found.place))
            } else if let widening = NumberWidening(from: found.type, to: member.kind.oid) {
                columns.append(.converted(found.place, widening))
            } else {
                return nil
            }
        }
        // Fields that rules name are selected behind the members, and a whole row has all of them already.
        guard columns.count == table.wholeRow.width else { return nil }
        return Mapping(relation: relation, table: table, layout: table.rowLayout, columns: columns, id: id)
    }

    /// The record of a change that left large values alone, which were not sent and are not in the row before either; nil where
    /// that is not so, or where the record got another id as well.
    func incomplete(_ row: RowChange) -> (table: RecordTable, storedID: String)? {
        guard let mapping = mappings[row.relation.oid], row.old == nil, let new = row.new,
            (0..<new.count).contains(where: { new.form($0) == .unchanged }),
            let id = mapping.text(row.unsafeNewBytes(mapping.id))
        else { return nil }
        return (mapping.table, id)
    }

    /// The changes that a row amounts to: two where a record got another id. nil where what was sent is not enough.
    func changes(_ row: RowChange) -> [RecordChange]? {
        guard let mapping = mappings[row.relation.oid] else { return [] }
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
                before: before == nil ? .unknown(mayBeNew: false) : mapping.before(rows(row, mapping, hasAfter: false)),
                after: nil,
                rows: before == nil ? nil : rows(row, mapping, hasAfter: false)
            )
            let made = RecordChange(
                of: mapping.table,
                rows: rows(row, mapping, hasBefore: false),
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
            rows: rows(row, mapping),
            hasAfter: row.new != nil,
            hasBefore: before != nil,
            isInsert: row.kind == .insert
        )
        return change.map { [$0] } ?? []
    }

    /// The row after, if there is one, and then the row before, if all of it was sent.
    private func rows(
        _ row: RowChange,
        _ mapping: Mapping,
        hasAfter: Bool = true,
        hasBefore: Bool = true
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
            }
        }
    }
}

extension ChangeDecoder.Mapping {
    fileprivate func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate func before(_ rows: PostgresResult) -> RecordChange.Before {
        StoredRecord(rows, row: 0, of: table).map { .row($0) } ?? .unknown(mayBeNew: false)
    }
}

extension RowPlan.Member {
    /// The column of a reserved member, which is not always called as the wire form has it.
    fileprivate var reservedColumn: String {
        key.name == "_ownerID" ? ReservedColumn.owner.rawValue : key.name
    }
}

extension RecordTable {
    /// Whether a column of the table is none of the catalogue's: one that keeps the words of a text.
    fileprivate func isUnlisted(_ name: String) -> Bool {
        columns.contains { $0.storedWords?.name == name }
    }
}

/// Bytes that were made of others, until they are copied.
private final class ScratchBytes {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    /// What PostgreSQL sends for true.
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

/// How narrower numbers that psql made columns of become those of fields, as the casts of statements do it.
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

    /// nil where one is not a narrower form of the other.
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

    /// nil for bytes that are no value of the type.
    fileprivate func widened(
        _ bytes: UnsafeRawBufferPointer,
        in scratch: ScratchBytes
    ) -> UnsafeRawBufferPointer? {
        widened(bytes).map { scratch.keep($0) }
    }

    func widened(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        guard isArray else { return element.widened(bytes) }
        // Dimensions, a flag and the type; for each dimension its length and first place; then the elements.
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
