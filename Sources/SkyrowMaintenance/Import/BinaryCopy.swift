internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// Writes rows in the binary form of `COPY` (PostgreSQL's manual, COPY, "Binary Format").
struct BinaryCopy {
    private var encoder = PostgresEncoder()

    /// Writes the signature, no flags, and no header extension.
    init() {
        encoder.append(bytes: Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00])
        encoder.append(Int32(0))
        encoder.append(Int32(0))
    }

    mutating func beginRow(columns: Int) {
        encoder.append(Int16(columns))
    }

    /// Throws `108 InvalidArgument` if a column made in psql is too narrow for an accepted value.
    static func check(_ value: RecordValue, for column: RecordColumn) throws(SkyrowError) {
        guard column.type.column.fits(value, in: column.oid) else {
            throw .invalidArgument("The integer is too large for the field \(column.field).", column.field.rawValue)
        }
    }

    /// Appends a value that was accepted and checked for its column; nil is NULL.
    mutating func append(_ value: RecordValue?, as type: any ColumnType, _ oid: PostgresOID) {
        type.encode(value ?? .null, as: oid, into: &encoder)
    }

    /// Returns the complete data with the end marker.
    consuming func finished() -> [UInt8] {
        encoder.append(Int16(-1))
        return encoder.bytes
    }
}
