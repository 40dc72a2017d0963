/// A client's position in the change feed: the transactions that it has seen, with the query, the rights and the table.
///
/// Nothing in it is secret or trusted: it narrows what a caller may read anyway. Its bytes are versioned and end with a
/// CRC-32C, so that a text that was cut or mangled is no token (Documentation/Decisions/change-feed.md).
package struct ChangeToken: Hashable, Sendable {
    /// The form of the table of the client's records.
    package struct Form: Hashable, Sendable {
        /// The table in PostgreSQL; zero when the type had no table.
        package var table: UInt32
        /// The number of its last column.
        package var columns: UInt16
        /// Digest of the names and types of the columns up to that one.
        package var digest: UInt64

        package init(table: UInt32, columns: UInt16, digest: UInt64) {
            self.table = table
            self.columns = columns
            self.digest = digest
        }
    }

    /// The state of a pass over the records, which is read in pages.
    package struct Pass: Hashable, Sendable {
        package enum Step: UInt8, Hashable, Sendable {
            /// All matching records, by `_id`.
            case initial
            /// Records that were deleted or became invisible, by revision and `_id`.
            case tombstones
            /// Records that were changed, by revision and `_id`.
            case rows
        }

        /// The record after which the next page begins.
        package struct Place: Hashable, Sendable {
            /// Zero in the order of ids.
            package var revision: Int64
            /// The stored id.
            package var id: String

            package init(revision: Int64 = 0, id: String) {
                self.revision = revision
                self.id = id
            }
        }

        package var step: Step
        /// nil at the beginning of the step.
        package var place: Place?
        /// What the client had seen before the pass, and when; nil for a client that had seen nothing.
        package var base: Base?

        package struct Base: Hashable, Sendable {
            package var transactions: TransactionSet
            package var takenAt: Int64

            package init(transactions: TransactionSet, takenAt: Int64) {
                self.transactions = transactions
                self.takenAt = takenAt
            }
        }

        package init(step: Step, place: Place? = nil, base: Base? = nil) {
            self.step = step
            self.place = place
            self.base = base
        }
    }

    package var place: HistoryPlace
    /// When the set was taken, in seconds since 1970 by the database's clock.
    package var takenAt: Int64
    /// The transactions that the client has seen, or will have seen at the end of the pass.
    package var transactions: TransactionSet
    /// Digest of what the caller may read.
    package var audience: UInt64
    /// Digest of application, database and type.
    package var scope: UInt64
    /// Digest of predicate and fields.
    package var query: UInt64
    package var form: Form
    /// The pass of a cursor; nil in a token.
    package var pass: Pass?

    package init(
        place: HistoryPlace,
        takenAt: Int64,
        transactions: TransactionSet,
        audience: UInt64,
        scope: UInt64,
        query: UInt64,
        form: Form,
        pass: Pass? = nil
    ) {
        self.place = place
        self.takenAt = takenAt
        self.transactions = transactions
        self.audience = audience
        self.scope = scope
        self.query = query
        self.form = form
        self.pass = pass
    }

    /// Whether the type had no table when the token was made: its client holds no record.
    package var isOfAbsentTable: Bool { form.table == 0 }

    /// Since when changes have to be known.
    package var oldest: Int64 { min(takenAt, pass?.base?.takenAt ?? takenAt) }
}

// MARK: Bytes

extension ChangeToken {
    private static let version: UInt8 = 2
    /// The version before the start of PostgreSQL and the log position were added.
    private static let versionOfBranches: UInt64 = 1
    /// Upper bound on the bytes of a token or cursor.
    package static let maximumBytes = 131_072
    private static let maximumIDBytes = 1024

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96 + 3 * transactions.missing.count)
        bytes.append(Self.version << 4 | (pass == nil ? 0 : 1))
        bytes.append(fixed: place.branch, count: 8)
        bytes.append(fixed: UInt64(bitPattern: place.start), count: 8)
        bytes.append(fixed: place.position, count: 8)
        bytes.append(fixed: UInt64(bitPattern: takenAt), count: 5)
        bytes.append(transactions)
        bytes.append(fixed: audience, count: 8)
        bytes.append(fixed: scope, count: 8)
        bytes.append(fixed: query, count: 8)
        bytes.append(fixed: UInt64(form.table), count: 4)
        bytes.append(fixed: UInt64(form.columns), count: 2)
        bytes.append(fixed: form.digest, count: 8)
        if let pass {
            bytes.append(pass.step.rawValue | (pass.place == nil ? 0 : 16) | (pass.base == nil ? 0 : 32))
            if let place = pass.place {
                bytes.append(fixed: UInt64(bitPattern: place.revision), count: 8)
                bytes.append(variable: UInt64(place.id.utf8.count))
                bytes += place.id.utf8
            }
            if let base = pass.base {
                bytes.append(fixed: UInt64(bitPattern: base.takenAt), count: 5)
                bytes.append(base.transactions)
            }
        }
        bytes.append(fixed: UInt64(CRC32C.of(bytes[...])), count: 4)
        return bytes
    }

    /// Parses a token; nil for other bytes.
    ///
    /// A token of the former version gets the end of a start that no database has had, so its client compares.
    package init?(bytes: [UInt8]) {
        guard bytes.count > 4, bytes.count <= Self.maximumBytes else { return nil }
        var check = ByteReader(bytes.suffix(4))
        guard check.fixed(4) == UInt64(CRC32C.of(bytes.dropLast(4))) else { return nil }
        var reader = ByteReader(bytes.dropLast(4))
        guard let head = reader.fixed(1), head & 15 <= 1, let branch = reader.fixed(8) else { return nil }
        var place = HistoryPlace(branch: branch, start: 0, position: .max)
        switch head >> 4 {
        case UInt64(Self.version):
            guard let start = reader.fixed(8), let position = reader.fixed(8) else { return nil }
            place.start = Int64(bitPattern: start)
            place.position = position
        case Self.versionOfBranches: break
        default: return nil
        }
        guard let takenAt = reader.fixed(5),
            let transactions = reader.transactions(),
            let audience = reader.fixed(8),
            let scope = reader.fixed(8),
            let query = reader.fixed(8),
            let table = reader.fixed(4),
            let columns = reader.fixed(2),
            let digest = reader.fixed(8)
        else { return nil }
        var pass: Pass?
        if head & 1 == 1 {
            guard let read = reader.pass(maximumIDBytes: Self.maximumIDBytes) else { return nil }
            pass = read
        }
        guard reader.isAtEnd else { return nil }
        self.init(
            place: place,
            takenAt: Int64(bitPattern: takenAt),
            transactions: transactions,
            audience: audience,
            scope: scope,
            query: query,
            form: Form(table: UInt32(table), columns: UInt16(columns), digest: digest),
            pass: pass
        )
    }
}

extension [UInt8] {
    /// Appends the lowest bytes of a number, the highest of them first.
    fileprivate mutating func append(fixed number: UInt64, count: Int) {
        for place in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place))) }
    }

    /// Appends a number with seven bits per byte, the lowest first.
    fileprivate mutating func append(variable number: UInt64) {
        var rest = number
        while rest > 127 {
            append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends the end, then the distance of each missing revision from the previous one, downwards.
    fileprivate mutating func append(_ set: TransactionSet) {
        append(fixed: UInt64(bitPattern: set.end), count: 8)
        append(variable: UInt64(set.missing.count))
        var last = set.end
        for revision in set.missing.reversed() {
            append(variable: UInt64(bitPattern: last &- revision))
            last = revision
        }
    }
}

/// Reads numbers from bytes; returns nil at the end and for malformed ones.
private struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func fixed(_ count: Int) -> UInt64? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func variable() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            number |= UInt64(byte & 127) << shift
            if byte < 128 { return shift > 0 && byte == 0 ? nil : number }
        }
        return nil
    }

    mutating func transactions() -> TransactionSet? {
        guard let end = fixed(8), let count = variable(), count <= UInt64(TransactionSet.maximumMissing),
            count <= UInt64(rest.count)
        else { return nil }
        let first = Int64(bitPattern: end)
        var last = first
        var missing: [Int64] = []
        missing.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let distance = variable(), distance > 0 else { return nil }
            let (next, overflow) = last.subtractingReportingOverflow(Int64(distance))
            guard !overflow else { return nil }
            missing.append(next)
            last = next
        }
        return TransactionSet(end: first, missing: missing.reversed())
    }

    mutating func pass(maximumIDBytes: Int) -> ChangeToken.Pass? {
        guard let flags = fixed(1), flags < 64, let step = ChangeToken.Pass.Step(rawValue: UInt8(flags & 15)) else {
            return nil
        }
        var pass = ChangeToken.Pass(step: step)
        if flags & 16 != 0 {
            guard let revision = fixed(8), let length = variable(), length <= UInt64(maximumIDBytes),
                rest.count >= Int(length), let id = String(validating: rest.prefix(Int(length)), as: UTF8.self),
                !id.hasNUL
            else { return nil }
            rest = rest.dropFirst(Int(length))
            pass.place = ChangeToken.Pass.Place(revision: Int64(bitPattern: revision), id: id)
        }
        if flags & 32 != 0 {
            guard let takenAt = fixed(5), let set = transactions() else { return nil }
            pass.base = ChangeToken.Pass.Base(transactions: set, takenAt: Int64(bitPattern: takenAt))
        }
        // Every step but the initial one requires what was seen before.
        guard (step == .initial) == (pass.base == nil) else { return nil }
        return pass
    }
}

/// The checksum of RFC 3720, with the Castagnoli polynomial.
enum CRC32C {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(~0) { $0 >> 8 ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
    }
}
