/// Why bytes are not a message of `pgoutput`, or not a valid one at this point.
package enum PgOutputError: Error, Hashable, Sendable {
    case empty
    /// A message of a kind that protocol version 1 does not have.
    case unknownKind(UInt8)
    /// The message ends too early.
    case truncated
    case trailingBytes(Int)
    case invalidText
    /// A tag byte has an unknown value.
    case unknownTag(UInt8)
    /// A negative count or length.
    case negativeCount(Int32)
    case rowOutsideTransaction
    case nestedTransaction
    case commitWithoutBegin
    /// The commit does not match its begin.
    case otherCommit
    case unknownRelation(PostgresOID)
    /// A row whose number of columns differs from its table's.
    case columnCount(Int, expected: Int)
}

/// Decodes messages of `pgoutput`: any bytes result in a message or an error.
package struct PgOutputDecoder: Sendable {

    /// Reads the message that starts at `offset` of the buffer and ends with it.
    package func message(in buffer: ReplicationBuffer, at offset: Int = 0) throws(PgOutputError) -> ReplicationMessage {
        var reader = ReplicationReader(buffer: buffer, offset: offset)
        guard reader.rest > 0 else { throw .empty }
        let kind = try reader.byte()
        let message = try message(kind, from: &reader)
        guard reader.rest == 0 else { throw .trailingBytes(reader.rest) }
        return message
    }

    private func message(
        _ kind: UInt8,
        from reader: inout ReplicationReader
    ) throws(PgOutputError) -> ReplicationMessage {
        switch kind {
        case UInt8(ascii: "B"):
            return .begin(
                commitPosition: try reader.position(),
                committedAt: try reader.time(),
                transactionID: try reader.integer()
            )
        case UInt8(ascii: "C"):
            // Flags, which no version uses.
            _ = try reader.byte()
            return .commit(
                commitPosition: try reader.position(),
                endPosition: try reader.position(),
                committedAt: try reader.time()
            )
        case UInt8(ascii: "O"):
            return .origin(commitPosition: try reader.position(), name: try reader.text())
        case UInt8(ascii: "R"):
            return .relation(try relation(from: &reader))
        case UInt8(ascii: "Y"):
            return .type(oid: try reader.oid(), schema: try reader.schema(), name: try reader.text())
        case UInt8(ascii: "I"):
            let relation = try reader.oid()
            try reader.expect(UInt8(ascii: "N"))
            return .insert(relation: relation, new: try reader.tuple())
        case UInt8(ascii: "U"):
            let relation = try reader.oid()
            let tag = try reader.byte()
            guard tag != UInt8(ascii: "N") else {
                return .update(relation: relation, old: nil, new: try reader.tuple())
            }
            let old = try oldTuple(tag, from: &reader)
            try reader.expect(UInt8(ascii: "N"))
            return .update(relation: relation, old: old, new: try reader.tuple())
        case UInt8(ascii: "D"):
            let relation = try reader.oid()
            return .delete(relation: relation, old: try oldTuple(try reader.byte(), from: &reader))
        case UInt8(ascii: "T"):
            let count = try reader.count(of: Int32.self, each: 4)
            let options = try reader.byte()
            var relations: [PostgresOID] = []
            relations.reserveCapacity(count)
            for _ in 0..<count { relations.append(try reader.oid()) }
            return .truncate(relations: relations, cascades: options & 1 != 0, restartsIdentity: options & 2 != 0)
        case UInt8(ascii: "M"):
            let flags = try reader.byte()
            let position = try reader.position()
            let prefix = try reader.text()
            let length = try reader.count(of: Int32.self, each: 1)
            return .message(
                position: position,
                isTransactional: flags & 1 != 0,
                prefix: prefix,
                content: Array(try reader.bytes(length))
            )
        default:
            throw .unknownKind(kind)
        }
    }

    private func oldTuple(
        _ tag: UInt8,
        from reader: inout ReplicationReader
    ) throws(PgOutputError) -> ReplicationOldTuple {
        switch tag {
        case UInt8(ascii: "K"): return .key(try reader.tuple())
        case UInt8(ascii: "O"): return .full(try reader.tuple())
        default: throw .unknownTag(tag)
        }
    }

    private func relation(from reader: inout ReplicationReader) throws(PgOutputError) -> ReplicationRelation {
        let oid = try reader.oid()
        let schema = try reader.schema()
        let name = try reader.text()
        let tag = try reader.byte()
        guard let identity = ReplicationRelation.Identity(rawValue: tag) else { throw .unknownTag(tag) }
        // A column has at least a flag, an empty terminated name, a type and a modifier.
        let count = try reader.count(of: Int16.self, each: 10)
        var columns: [ReplicationRelation.Column] = []
        columns.reserveCapacity(count)
        for _ in 0..<count {
            let flags = try reader.byte()
            columns.append(
                ReplicationRelation.Column(
                    name: try reader.text(),
                    type: try reader.oid(),
                    modifier: try reader.integer(),
                    isKey: flags & 1 != 0
                )
            )
        }
        return ReplicationRelation(oid: oid, schema: schema, name: name, identity: identity, columns: columns)
    }
}

/// A reader at an offset of a message.
struct ReplicationReader {
    private let buffer: ReplicationBuffer
    private(set) var offset: Int

    init(buffer: ReplicationBuffer, offset: Int) {
        self.buffer = buffer
        self.offset = min(max(0, offset), buffer.bytes.count)
    }

    var rest: Int { buffer.bytes.count - offset }

    mutating func byte() throws(PgOutputError) -> UInt8 { try integer() }

    mutating func expect(_ tag: UInt8) throws(PgOutputError) {
        let found = try byte()
        guard found == tag else { throw .unknownTag(found) }
    }

    mutating func integer<Integer: FixedWidthInteger>(
        as _: Integer.Type = Integer.self
    ) throws(PgOutputError) -> Integer {
        let size = MemoryLayout<Integer>.size
        guard rest >= size else { throw .truncated }
        defer { offset += size }
        return Integer(bigEndian: buffer.bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    /// Reads a count of elements of at least `size` bytes each, so that no more memory is reserved than the message can fill.
    mutating func count<Integer: FixedWidthInteger & SignedInteger>(
        of _: Integer.Type,
        each size: Int
    ) throws(PgOutputError) -> Int {
        let count: Integer = try integer()
        guard count >= 0 else { throw .negativeCount(Int32(count)) }
        guard Int(count) * size <= rest else { throw .truncated }
        return Int(count)
    }

    mutating func bytes(_ count: Int) throws(PgOutputError) -> UnsafeRawBufferPointer {
        guard rest >= count else { throw .truncated }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: buffer.bytes[offset..<(offset + count)])
    }

    /// Reads a text that ends with a zero byte.
    mutating func text() throws(PgOutputError) -> String {
        guard let end = buffer.bytes[offset...].firstIndex(of: 0) else { throw .truncated }
        let bytes = try bytes(end - offset)
        offset += 1
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .invalidText }
        return text
    }

    /// Reads a schema name; `pg_catalog` is sent as an empty text.
    mutating func schema() throws(PgOutputError) -> String {
        let name = try text()
        return name.isEmpty ? "pg_catalog" : name
    }

    mutating func oid() throws(PgOutputError) -> PostgresOID { PostgresOID(rawValue: try integer()) }

    mutating func position() throws(PgOutputError) -> PostgresLSN { PostgresLSN(rawValue: try integer()) }

    mutating func time() throws(PgOutputError) -> PostgresTimestamp {
        PostgresTimestamp(microsecondsSince2000: try integer())
    }

    mutating func tuple() throws(PgOutputError) -> ReplicationTuple {
        let count = try count(of: Int16.self, each: 1)
        var places: [UInt32] = []
        places.reserveCapacity(count)
        for _ in 0..<count {
            guard let place = UInt32(exactly: offset) else { throw .truncated }
            let tag = try byte()
            switch ReplicationTuple.Form(rawValue: tag) {
            case nil: throw .unknownTag(tag)
            case .null, .unchanged: break
            case .text, .binary: offset += try self.count(of: Int32.self, each: 1)
            }
            places.append(place)
        }
        return ReplicationTuple(buffer: buffer, places: places)
    }
}
