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

    /// The types of values, by their code; further types have the next one.
    private static let types: [PostgresOID] = [.text, .int8, .float8, .bool, .timestamptz, .bytea, .jsonb]

    /// Returns the code of a kind, which determines the encoding of its values.
    static func code(of kind: ValueKind) -> UInt8 {
        kind.sortOID.map { UInt8(types.firstIndex(of: $0) ?? types.count) + 1 } ?? 0
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
            if fixedLength(kind) == nil {
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

    /// The length of values of a fixed length; nil if values store their length.
    private static func fixedLength(_ kind: ValueKind) -> Int? {
        switch kind.sortOID {
        case .int8, .float8, .timestamptz: 8
        case .bool: 1
        default: nil
        }
    }

    /// Reads the values of some kinds; nil if the bytes do not match these kinds exactly.
    static func read(_ bytes: ArraySlice<UInt8>, kinds: [ValueKind]) -> [ResolvedLiteral?]? {
        var rest = bytes
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func length() -> Int? {
            take(4).map { Int($0.reduce(0) { $0 << 8 | UInt32($1) }) }
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
            guard let count = fixedLength(kind) ?? length(), let bytes = take(count),
                let value = Array(bytes).withUnsafeBytes({ ResolvedLiteral(sorted: $0, of: kind) })
            else { return nil }
            values.append(value)
        }
        return rest.isEmpty ? values : nil
    }
}

extension ResolvedLiteral {
    /// Reads a value as a row has it; nil for bytes that do not fit the kind.
    fileprivate init?(sorted bytes: UnsafeRawBufferPointer, of kind: ValueKind) {
        switch kind {
        case _ where kind.isText:
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            self = .text(text)
        case .decimal:
            guard let number = JSONDecimal(String(decoding: bytes, as: UTF8.self)) else { return nil }
            self = .decimal(number)
        default:
            guard let row = kind.sortKind, case .scalar(let literal)? = StoredValue(bytes, of: row) else { return nil }
            self = literal
        }
    }
}

extension ValueKind {
    /// How a sort key of the kind is read from a row; nil for a kind without order.
    fileprivate var sortKind: RowPlan.Kind? { isText ? .text : isSortable ? answerType.column.kind : nil }

    /// The type in which a sort key of the kind is selected.
    var sortOID: PostgresOID? { sortKind?.oid }

    /// Returns the SQL that selects a value of the kind, so that a column created by psql has the same bytes.
    ///
    /// A number inside JSON is selected as a JSON number, which keeps its digits and its order.
    func selection(_ value: SQL) -> SQL {
        switch self {
        case .integer: "\(value)::bigint"
        case .number: "\(value)::double precision"
        case .decimal: "to_jsonb(\(value))"
        default: value
        }
    }
}
