internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Encodes the values of the sort keys at a position: for each a byte for its presence, then the value in binary.
///
/// Numbers, instants and booleans have the size of PostgreSQL's binary form; a length of four bytes precedes texts, bytes and
/// numbers inside JSON.
enum CursorValues {
    /// Upper bound on the bytes of one value.
    static let maximumValueBytes = 8_192

    /// Returns the code of a kind, which determines the encoding of its values.
    static func code(of kind: ValueKind) -> UInt8 {
        switch kind {
        case _ where kind.isText: 1
        case .integer: 2
        case .number: 3
        case .boolean: 4
        case .datetime: 5
        case .bytes: 6
        case .decimal: 7
        default: 0
        }
    }

    /// Appends a column of a row, selected in the type of its kind; returns false if it is too long, or if its type has just
    /// changed.
    static func append(
        _ result: PostgresResult,
        row: Int,
        column: Int,
        kind: ValueKind,
        to bytes: inout [UInt8]
    ) -> Bool {
        guard result.columnType(column) == kind.sortOID else { return false }
        return result.withColumn(row, column) { stored in
            guard let stored else {
                appendMissing(to: &bytes)
                return true
            }
            // The binary form of jsonb begins with a version byte.
            let value = kind == .decimal ? UnsafeRawBufferPointer(rebasing: stored.dropFirst()) : stored
            guard value.count <= maximumValueBytes else { return false }
            bytes.append(1)
            if hasLength(kind) {
                withUnsafeBytes(of: UInt32(value.count).bigEndian) { bytes.append(contentsOf: $0) }
            }
            bytes.append(contentsOf: value)
            return true
        }
    }

    /// Appends the encoding of a missing value.
    static func appendMissing(to bytes: inout [UInt8]) {
        bytes.append(0)
    }

    private static func hasLength(_ kind: ValueKind) -> Bool {
        [1, 6, 7].contains(code(of: kind))
    }

    /// Reads the values of some kinds; nil if the bytes do not match these kinds exactly.
    static func read(_ bytes: ArraySlice<UInt8>, kinds: [ValueKind]) -> [ResolvedLiteral?]? {
        var rest = bytes
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func integer() -> UInt64? {
            take(8).map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
        }
        func lengthened() -> [UInt8]? {
            guard let length = take(4) else { return nil }
            return take(Int(length.reduce(0) { $0 << 8 | UInt32($1) })).map { Array($0) }
        }
        var values: [ResolvedLiteral?] = []
        for kind in kinds {
            switch take(1)?.first {
            case 0:
                values.append(nil)
                continue
            case 1: break
            default: return nil
            }
            let value: ResolvedLiteral? =
                switch code(of: kind) {
                case 1: lengthened().flatMap { String(validating: $0, as: UTF8.self) }.map { .text($0) }
                case 2: integer().map { .integer(Int64(bitPattern: $0)) }
                case 3: integer().map { .number(Double(bitPattern: $0)) }
                case 4: take(1)?.first.map { .boolean($0 != 0) }
                case 5: integer().map { .datetime(Timestamp(microseconds: Int64(bitPattern: $0))) }
                case 6: lengthened().map { .bytes($0) }
                case 7: lengthened().flatMap { JSONDecimal(String(decoding: $0, as: UTF8.self)) }.map { .decimal($0) }
                default: nil
                }
            guard let value else { return nil }
            values.append(value)
        }
        return rest.isEmpty ? values : nil
    }
}

extension ValueKind {
    /// The type in which a sort key of the kind is selected.
    var sortOID: PostgresOID? {
        switch CursorValues.code(of: self) {
        case 1: .text
        case 2: .int8
        case 3: .float8
        case 4: .bool
        case 5: .timestamptz
        case 6: .bytea
        case 7: .jsonb
        default: nil
        }
    }

    /// Returns the SQL that selects a value of the kind, so that a column created by psql has the same bytes.
    ///
    /// A number inside JSON is selected as a JSON number, which keeps its digits and its order.
    func selection(_ value: SQL) -> SQL {
        switch CursorValues.code(of: self) {
        case 2: "\(value)::bigint"
        case 3: "\(value)::double precision"
        case 7: "to_jsonb(\(value))"
        default: value
        }
    }
}
