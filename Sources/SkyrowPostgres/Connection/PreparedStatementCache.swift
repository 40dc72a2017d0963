internal import Glibc

/// A statement that is prepared under a name on a connection.
final class PreparedStatement {
    enum State {
        case prepared
        /// The session does not have the statement.
        case forgotten
        /// A pooler keeps it in a form that no longer fits the schema.
        case unusable
    }

    let name: String
    var state = State.prepared
    /// The text in the memory of the latest request.
    fileprivate var text: StatementText
    let types: [PostgresOID]
    fileprivate var lastUse = 0

    fileprivate init(name: String, text: StatementText, types: [PostgresOID]) {
        self.name = name
        self.text = text
        self.types = types
    }
}

/// The statements prepared on one connection, by their text and the types of their
/// values; a new one evicts the least recently used.
struct PreparedStatementCache {
    /// The number of recently used statements that are checked first.
    private static let recentCount = 8

    /// Indexed by the bytes of the text.
    private var statements: [StatementText: [PreparedStatement]] = [:]
    /// Some recently used statements. Texts are kept and bound again, so most are recognized by their address.
    private var recent: [PreparedStatement] = []
    private var nextRecent = 0
    private var count = 0
    private var uses = 0
    /// How many names were made.
    private(set) var names = 0
    /// A prefix that no other connection uses: a session that a pooler lent to another client before then refuses an unknown
    /// name, and never runs another statement under it. It is short, since it is sent with every execution.
    private let prefix: String
    let capacity: Int

    init(capacity: Int) {
        self.capacity = max(1, capacity)
        // 52 bits.
        prefix = "s" + String(UInt64.random(in: 0..<1 << 52), radix: 36) + "_"
    }

    /// Returns a name that no statement had before.
    mutating func makeName() -> String {
        names += 1
        return prefix + String(names)
    }

    /// Returns the prepared statement with that text and those types, if any.
    mutating func find(_ sql: SQL) -> PreparedStatement? {
        let text = StatementText(utf8: sql.utf8)
        for candidate in recent where candidate.text.isSameMemory(as: text) && candidate.matches(sql.bindings) {
            use(candidate)
            return candidate
        }
        guard let found = statements[text]?.first(where: { $0.matches(sql.bindings) }) else { return nil }
        use(found)
        found.text = text
        guard !recent.contains(where: { $0 === found }) else { return found }
        if recent.count < Self.recentCount {
            recent.append(found)
        } else {
            recent[nextRecent] = found
            nextRecent = (nextRecent + 1) % Self.recentCount
        }
        return found
    }

    private mutating func use(_ statement: PreparedStatement) {
        uses += 1
        statement.lastUse = uses
    }

    /// Adds a statement; returns it and the evicted one, if any.
    mutating func add(_ sql: SQL) -> (added: PreparedStatement, evicted: PreparedStatement?) {
        let evicted = count >= capacity ? leastRecentlyUsed() : nil
        if let evicted { remove(evicted) }
        uses += 1
        let statement = PreparedStatement(
            name: makeName(),
            text: StatementText(utf8: sql.utf8),
            types: sql.bindings.values.map(\.type)
        )
        statement.lastUse = uses
        statements[statement.text, default: []].append(statement)
        count += 1
        return (statement, evicted)
    }

    mutating func remove(_ statement: PreparedStatement) {
        guard var candidates = statements[statement.text],
            let index = candidates.firstIndex(where: { $0 === statement })
        else { return }
        candidates.remove(at: index)
        recent.removeAll { $0 === statement }
        nextRecent = 0
        statements[statement.text] = candidates.isEmpty ? nil : candidates
        count -= 1
    }

    private func leastRecentlyUsed() -> PreparedStatement? {
        statements.values.joined().min { $0.lastUse < $1.lastUse }
    }
}

extension PreparedStatement {
    fileprivate func matches(_ bindings: PostgresBindings) -> Bool {
        guard bindings.values.count == types.count else { return false }
        for (index, type) in types.enumerated() where bindings.values[index].type != type { return false }
        return true
    }
}

/// A statement's text, hashed and compared as bytes.
private struct StatementText: Hashable {
    let utf8: [UInt8]

    /// Whether both are the same array, and so the same text; two arrays may have equal texts.
    func isSameMemory(as other: StatementText) -> Bool {
        utf8.withUnsafeBytes { left in
            other.utf8.withUnsafeBytes { left.count == $0.count && left.baseAddress == $0.baseAddress }
        }
    }

    static func == (left: StatementText, right: StatementText) -> Bool {
        left.utf8.withUnsafeBytes { left in
            right.utf8.withUnsafeBytes { right in
                guard left.count == right.count else { return false }
                guard let start = left.baseAddress, let other = right.baseAddress else { return true }
                return start == other || memcmp(start, other, left.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        utf8.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
