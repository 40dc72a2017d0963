internal import Glibc

/// A statement that is prepared on a connection under a name.
final class PreparedStatement {
    let name: String
    fileprivate let text: StatementText
    let types: [PostgresOID]
    fileprivate var lastUse = 0

    fileprivate init(name: String, text: StatementText, types: [PostgresOID]) {
        self.name = name
        self.text = text
        self.types = types
    }
}

/// The statements prepared on one connection, found by their text and the types of their values; the least recently
/// used one makes room for a new one.
struct PreparedStatementCache {
    /// By the bytes of the text.
    private var statements: [StatementText: [PreparedStatement]] = [:]
    private var count = 0
    private var uses = 0
    private var names = 0
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// The statement of that text and those types, if it is prepared.
    mutating func find(_ sql: SQL) -> PreparedStatement? {
        guard let candidates = statements[StatementText(utf8: sql.utf8)] else { return nil }
        for candidate in candidates where candidate.matches(sql.bindings) {
            uses += 1
            candidate.lastUse = uses
            return candidate
        }
        return nil
    }

    /// Takes up a new statement; returns it and the one that has to go, if any.
    mutating func add(_ sql: SQL) -> (added: PreparedStatement, evicted: PreparedStatement?) {
        let evicted = count >= capacity ? leastRecentlyUsed() : nil
        if let evicted { remove(evicted) }
        names += 1
        uses += 1
        let statement = PreparedStatement(
            name: "s\(names)",
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

/// A statement's text, hashed and compared as the bytes it is.
private struct StatementText: Hashable {
    let utf8: [UInt8]

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
