internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The values of the sort keys at a place, in binary: a byte that says whether there is one, then the value.
///
/// Numbers, instants and truths have as many bytes as in PostgreSQL's binary form; a text, bytes and a number inside JSON have
/// their length in four bytes before them.
enum CursorValues {
    /// Of one value; a longer one gives no cursor.
    static let maximumValueBytes = 8_192

    /// What a key holds, as far as it decides how a value is written.
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

    /// Appends a column of a row, which is selected in the type of its kind; false where it is too long, or of another type
    /// since the schema was changed a moment ago.
    static func append(
        _ result: PostgresResult,
        row: Int,
        column: Int,
        kind: ValueKind,
        to bytes: inout [UInt8]
    ) -> Bool {
        guard result.columnType(column) == kind.sortOID else { return false }
        return result.withColumn(row, column) { value in
            guard let value else {
                bytes.append(0)
                return true
            }
            guard value.count <= maximumValueBytes else { return false }
            bytes.append(1)
            if hasLength(kind) {
                withUnsafeBytes(of: UInt32(value.count).bigEndian) { bytes.append(contentsOf: $0) }
            }
            bytes.append(contentsOf: value)
            return true
        }
    }

    private static func hasLength(_ kind: ValueKind) -> Bool {
        switch code(of: kind) {
        case 1, 6, 7: true
        default: false
        }
    }

    /// Reads the values of some kinds; nil when the bytes are not exactly those.
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
                case 7: lengthened().flatMap { JSONDecimal(numeric: $0) }.map { .decimal($0) }
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
    fileprivate var sortOID: PostgresOID? {
        switch CursorValues.code(of: self) {
        case 1: .text
        case 2: .int8
        case 3: .float8
        case 4: .bool
        case 5: .timestamptz
        case 6: .bytea
        case 7: .numeric
        default: nil
        }
    }

    /// What a sort key of the kind is selected with, so that a column of psql's making has the same bytes.
    var sortCast: StaticString {
        switch CursorValues.code(of: self) {
        case 2: "::bigint"
        case 3: "::double precision"
        default: ""
        }
    }
}

extension JSONDecimal {
    /// Reads the binary form of `numeric` (numeric_send): the count of its digits of base 10,000, the weight of the first, the
    /// sign, the digits behind the point, then the digits; nil for what is no finite number.
    fileprivate init?(numeric bytes: [UInt8]) {
        let words = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        guard bytes.count.isMultiple(of: 2), words.count >= 4, words.count == 4 + Int(words[0]) else { return nil }
        guard words[2] == 0 || words[2] == 0x4000, words[4...].allSatisfy({ $0 < 10_000 }) else { return nil }
        let digits = words[4...].map { word -> String in
            let text = String(word)
            return String(repeating: "0", count: 4 - text.utf8.count) + text
        }.joined()
        let significant = digits.drop { $0 == "0" }
        guard !significant.isEmpty else {
            self.init(0 as Int64)
            return
        }
        let weight = Int(Int16(bitPattern: words[1]))
        let exponent = 4 * (weight - Int(words[0]) + 1)
        self.init("\(words[2] == 0 ? "" : "-")\(significant)e\(exponent)")
    }
}
