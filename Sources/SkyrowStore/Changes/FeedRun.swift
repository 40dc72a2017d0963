internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowProtocol
internal import Synchronization

/// Reads the pages of one request to the change feed.
struct FeedRun: Sendable {
    /// Size in bytes of rows at which a page ends.
    static let pageBytes = 1 << 20
    /// Upper bound on the bytes of rows read for a page, except for a single larger record.
    private static let readBytes = 4 << 20

    private let store: RecordStore
    private let request: ChangesRequest
    /// nil for a type without a table.
    private let statement: ChangesStatement?
    private let access: RecordAccess

    init(_ store: RecordStore, _ request: ChangesRequest, _ statement: ChangesStatement?, _ access: RecordAccess) {
        self.store = store
        self.request = request
        self.statement = statement
        self.access = access
    }

    /// - Parameters:
    ///   - pass: the token of the end of the pass, and the position in it.
    ///   - isNew: whether the pass begins with this page.
    ///   - hasNews: whether anything may have changed since the client's token.
    func page(_ pass: ChangeToken, moment: ChangeMoment, isNew: Bool, hasNews: Bool) async throws -> ChangesResult {
        var end = pass
        end.pass = nil
        var result = ChangesResult(moment: isNew ? moment : nil)
        guard let statement, hasNews, let step = pass.pass, step.base?.transactions != pass.transactions else {
            result.token = end.text
            return result
        }
        var next: ChangeToken.Pass?
        switch step.step {
        case .initial:
            let page = try await rows(in: statement) { statement.initial(after: step.place, limit: $0) }
            let stored = StoredRows(page.result, plan: statement.plan, for: access.fields)
            result.changed = (0..<page.count).map { stored[$0] }
            if page.hasMore {
                let id = try page.result.decode(row: page.count - 1, column: statement.plan.idColumn, as: String.self)
                next = step
                next?.place = ChangeToken.Pass.Place(id: id)
            }
        case .tombstones:
            let seen = step.base?.transactions ?? pass.transactions
            // Both are read after the snapshot, in either order: changes committed in between are of transactions outside its
            // set.
            async let changed = step.place == nil ? rows(in: statement, step, since: seen) : nil
            let limit = request.limit
            let graves = try await store.client.read(
                statement.tombstones(since: seen, after: step.place, limit: limit + 1),
                limit: .reading
            )
            let ids = try graves.decodeColumn(1, as: String.self)
            result.removed = ids.prefix(limit).compactMap(removed)
            if ids.count > limit {
                _ = try await changed
                next = step
                next?.place = ChangeToken.Pass.Place(
                    revision: try graves.decode(row: limit - 1, column: 0),
                    id: ids[limit - 1]
                )
            } else if let page = try await changed {
                next = try add(page, to: &result, statement, step)
            } else {
                next = ChangeToken.Pass(step: .rows, base: step.base)
            }
        case .rows:
            let page = try await rows(in: statement, step, since: step.base?.transactions ?? pass.transactions)
            next = try add(page, to: &result, statement, step)
        }
        if let next {
            end.pass = next
            result.cursor = end.text
        } else {
            result.token = end.text
        }
        return result
    }

    /// A page of ids and revisions.
    func pairs(_ pass: ChangeToken) async throws -> ComparedRecords {
        var end = pass
        end.pass = nil
        guard let statement else { return ComparedRecords(token: end.text) }
        guard let step = pass.pass, step.step == .initial else { throw SkyrowError.changeTokenInvalid("cursor") }
        let found = try await store.client.read(
            statement.pairs(after: step.place, limit: request.limit + 1),
            limit: .reading,
            contention: statement.table.contention
        )
        let ids = try found.decodeColumn(0, as: String.self)
        let revisions = try found.decodeColumn(1, as: Int64.self)
        var result = ComparedRecords(
            pairs: zip(ids, revisions).prefix(request.limit).map {
                ComparedRecords.Pair(id: StoredID.wireID(of: $0), revision: $1)
            }
        )
        if ids.count > request.limit {
            end.pass = ChangeToken.Pass(step: .initial, place: ChangeToken.Pass.Place(id: ids[request.limit - 1]))
            result.cursor = end.text
        } else {
            result.token = end.text
        }
        return result
    }

    // MARK: Rows

    /// The rows of a page, the number of them that belong to it, and whether more follow.
    private struct Page: Sendable {
        let result: PostgresResult
        let count: Int
        let hasMore: Bool
    }

    private func rows(
        in statement: ChangesStatement,
        _ step: ChangeToken.Pass,
        since seen: TransactionSet
    ) async throws -> Page {
        let place = step.step == .rows ? step.place : nil
        return try await rows(in: statement) { statement.rows(since: seen, after: place, limit: $0) }
    }

    /// Reads the rows of a page, fewer if they are large.
    private func rows(in statement: ChangesStatement, _ sql: @Sendable (Int) -> SQL) async throws -> Page {
        var limit = request.limit
        while true {
            do {
                let budget = PostgresRowLimit(budget: FeedBudget(bytes: Self.readBytes, of: .reading), excess: .fails)
                let result = try await store.client.read(
                    sql(limit + 1),
                    limit: limit == 1 ? .reading : budget,
                    contention: statement.table.contention
                )
                var count = 0
                var bytes = 0
                while count < min(result.rowCount, limit) {
                    bytes += result.byteCount(ofRow: count)
                    if count > 0, bytes > Self.pageBytes { break }
                    count += 1
                }
                return Page(result: result, count: count, hasMore: result.rowCount > count)
            } catch let error as PostgresError where error.code == .resultTooLarge && limit > 1 {
                limit = max(1, limit / 16)
            }
        }
    }

    /// Adds the changes of a page; returns where the pass continues.
    private func add(
        _ page: Page,
        to result: inout ChangesResult,
        _ statement: ChangesStatement,
        _ step: ChangeToken.Pass
    ) throws -> ChangeToken.Pass? {
        let stored = StoredRows(page.result, plan: statement.plan, for: access.fields)
        for row in 0..<page.count {
            if try statement.matches(row, of: page.result) {
                result.changed.append(stored[row])
            } else if let id = removed(try statement.place(row, of: page.result).id) {
                result.removed.append(id)
            }
        }
        guard page.hasMore else { return nil }
        return ChangeToken.Pass(
            step: .rows,
            place: try statement.place(page.count - 1, of: page.result),
            base: step.base
        )
    }

    /// Returns the id of a record for the client to drop; nil if the client does not hold it.
    private func removed(_ stored: String) -> String? {
        let id = "\(request.query.type)/\(StoredID.wireID(of: stored))"
        guard request.holding?.mayHold(id) ?? true else { return nil }
        return id
    }
}

/// The budget of one statement within that of the request.
private final class FeedBudget: PostgresRowBudget {
    private let limit: Int
    private let outer: PostgresRowLimit?
    private let used = Atomic(0)

    init(bytes: Int, of outer: PostgresRowLimit?) {
        limit = bytes
        self.outer = outer
    }

    func takeForRows(_ bytes: Int) -> PostgresError.Code? {
        guard used.add(bytes, ordering: .relaxed).newValue <= limit else {
            used.subtract(bytes, ordering: .relaxed)
            return .resultTooLarge
        }
        guard let refusal = outer?.takeForRows(bytes) else { return nil }
        used.subtract(bytes, ordering: .relaxed)
        return refusal
    }

    func giveBackForRows(_ bytes: Int) {
        used.subtract(bytes, ordering: .relaxed)
        outer?.giveBackForRows(bytes)
    }
}

extension PostgresResult {
    /// Returns the size of a row's values in bytes.
    fileprivate func byteCount(ofRow row: Int) -> Int {
        (0..<columnCount).reduce(0) { $0 + (unsafeBytes(row, $1)?.count ?? 0) }
    }
}
