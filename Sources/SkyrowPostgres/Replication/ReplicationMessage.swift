/// One message of logical decoding with `pgoutput`, protocol version 1.
///
/// The names are those of PostgreSQL's manual, chapter "Logical Replication Message Formats".
package enum ReplicationMessage: Sendable {
    /// Begins a transaction whose commit record is at `commitPosition`.
    case begin(commitPosition: PostgresLSN, committedAt: PostgresTimestamp, transactionID: UInt32)
    /// Ends the transaction; the log continues at `endPosition`.
    case commit(commitPosition: PostgresLSN, endPosition: PostgresLSN, committedAt: PostgresTimestamp)
    /// The transaction was replicated from another server.
    case origin(commitPosition: PostgresLSN, name: String)
    /// Describes the rows with this OID from now on; sent before the first row of a table and after a change of the table.
    case relation(ReplicationRelation)
    /// A type that does not come with PostgreSQL.
    case type(oid: PostgresOID, schema: String, name: String)
    case insert(relation: PostgresOID, new: ReplicationTuple)
    case update(relation: PostgresOID, old: ReplicationOldTuple?, new: ReplicationTuple)
    case delete(relation: PostgresOID, old: ReplicationOldTuple)
    case truncate(relations: [PostgresOID], cascades: Bool, restartsIdentity: Bool)
    /// A message written by `pg_logical_emit_message`.
    case message(position: PostgresLSN, isTransactional: Bool, prefix: String, content: [UInt8])
}

/// A row before its change.
package enum ReplicationOldTuple: Sendable {
    /// The key columns; all others are null.
    case key(ReplicationTuple)
    /// All columns, for a table with `REPLICA IDENTITY FULL`.
    case full(ReplicationTuple)

    package var tuple: ReplicationTuple {
        switch self {
        case .key(let tuple), .full(let tuple): tuple
        }
    }
}

/// A table as its rows are sent. It is immutable: `ALTER TABLE` results in a new one.
package final class ReplicationRelation: Sendable {
    package struct Column: Hashable, Sendable {
        package let name: String
        package let type: PostgresOID
        package let modifier: Int32
        /// Whether the column is part of the replica identity.
        package let isKey: Bool
    }

    /// Which columns of an old row are sent (`pg_class.relreplident`).
    package enum Identity: UInt8, Sendable {
        case primaryKey = 0x64
        case nothing = 0x6E
        case full = 0x66
        case index = 0x69
    }

    package let oid: PostgresOID
    package let schema: String
    package let name: String
    package let identity: Identity
    package let columns: [Column]

    init(oid: PostgresOID, schema: String, name: String, identity: Identity, columns: [Column]) {
        self.oid = oid
        self.schema = schema
        self.name = name
        self.identity = identity
        self.columns = columns
    }
}

/// A row as it was sent; its values are slices of the message.
package struct ReplicationTuple: Sendable {
    /// How a value was sent.
    package enum Form: UInt8, Sendable {
        case null = 0x6E
        /// An unchanged large (TOASTed) value, which the log does not contain. The old row of a table with `REPLICA IDENTITY
        /// FULL` has it.
        case unchanged = 0x75
        /// As text, since the type has no binary form.
        case text = 0x74
        case binary = 0x62
    }

    private let buffer: ReplicationBuffer
    /// The offset of each column's form in the buffer; the length, 4 bytes, and the value follow it.
    private let places: [UInt32]

    init(buffer: ReplicationBuffer, places: [UInt32]) {
        self.buffer = buffer
        self.places = places
    }

    package var count: Int { places.count }

    /// How a value was sent; null for an index out of range.
    package func form(_ column: Int) -> Form {
        guard places.indices.contains(column) else { return .null }
        return Form(rawValue: buffer.bytes[Int(places[column])]) ?? .null
    }

    /// The bytes of a value, valid while the caller keeps the tuple; nil for a null or unchanged value.
    package func unsafeBytes(_ column: Int) -> UnsafeRawBufferPointer? {
        guard places.indices.contains(column) else { return nil }
        let place = Int(places[column])
        switch form(column) {
        case .null, .unchanged:
            return nil
        case .text, .binary:
            let length = Int(UInt32(bigEndian: buffer.bytes.loadUnaligned(fromByteOffset: place + 1, as: UInt32.self)))
            return UnsafeRawBufferPointer(rebasing: buffer.bytes[(place + 5)..<(place + 5 + length)])
        }
    }

    /// The bytes that this tuple keeps in memory; the old and the new row of a change share them.
    var byteCount: Int { buffer.bytes.count + places.count * MemoryLayout<UInt32>.size }
}
