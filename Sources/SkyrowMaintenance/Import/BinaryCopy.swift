internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// Writes rows in the binary form of `COPY` (PostgreSQL's manual, COPY, "Binary Format").
struct BinaryCopy {
    private var encoder = PostgresEncoder()

    /// The signature, no flags, no header extension.
    init() {
        encoder.append(bytes: Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00])
        encoder.append(Int32(0))
        encoder.append(Int32(0))
    }

    /// How many bytes there are so far.
    var count: Int { encoder.count }

    mutating func beginRow(columns: Int) {
        encoder.append(Int16(columns))
    }

    /// Throws `108 InvalidArgument` when a column made in psql is too narrow for a value that was accepted for it.
    static func check(_ value: RecordValue, for column: RecordColumn) throws(SkyrowError) {
        guard case .integer(let number) = value else { return }
        let fits: Bool
        switch column.oid {
        case .int2: fits = Int16(exactly: number) != nil
        case .int4: fits = Int32(exactly: number) != nil
        default: fits = true
        }
        guard fits else {
            throw .invalidArgument("The integer is too large for the field \(column.field).", column.field.rawValue)
        }
    }

    /// Appends a value that was accepted and checked for its column, in the type that the column has.
    mutating func append(_ value: RecordValue, as type: PostgresOID) {
        switch value {
        case .null, .sequence: encoder.append(Int32(-1))
        case .string(let text): append(text: text)
        case .reference(let id): append(text: id.id)
        case .boolean(let flag): append(integer: Int8(flag ? 1 : 0))
        case .datetime(let instant): append(integer: instant.microseconds)
        case .bytes(let bytes):
            encoder.append(Int32(bytes.count))
            encoder.append(bytes: bytes)
        case .json(let text):
            // The binary form of jsonb is one byte with its version, then the text.
            let hasVersion = type == .jsonb
            encoder.append(Int32(text.utf8.count + (hasVersion ? 1 : 0)))
            if hasVersion { encoder.append(UInt8(1)) }
            encoder.append(bytes: text.utf8)
        case .integer(let number):
            switch type {
            case .int2: append(integer: Int16(truncatingIfNeeded: number))
            case .int4: append(integer: Int32(truncatingIfNeeded: number))
            default: append(integer: number)
            }
        case .number(let number):
            if type == .float4 {
                append(integer: Float(number).bitPattern)
            } else {
                append(integer: number.bitPattern)
            }
        }
    }

    /// The whole text of the copy, its end marked.
    consuming func finished() -> [UInt8] {
        encoder.append(Int16(-1))
        return encoder.bytes
    }

    private mutating func append(text: String) {
        encoder.append(Int32(text.utf8.count))
        encoder.append(bytes: Array(text.utf8))
    }

    private mutating func append(integer: some FixedWidthInteger) {
        encoder.append(Int32(integer.bitWidth / 8))
        encoder.append(integer)
    }
}
