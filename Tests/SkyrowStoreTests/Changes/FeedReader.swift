import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport

@testable import SkyrowStore

/// A client of the change feed: what it holds of one query, and from where it goes on.
struct FeedReader {
    let store: RecordStore
    var access: RecordAccess
    var query: ChangeQuery
    var limit = ChangesRequest.defaultLimit
    var retention = Duration.seconds(86_400)
    /// By the ids that the client sees, `"note/7"`.
    private(set) var held: [String: Record] = [:]
    private(set) var position = ChangesRequest.Position.start
    /// What the last page brought.
    private(set) var last = ChangesResult()
    /// All ids that pages have named as removed.
    private(set) var removed: [String] = []

    init(
        _ store: RecordStore,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        type name: String = "note",
        predicate: Predicate? = nil,
        fields: [String]? = nil
    ) {
        self.store = store
        access = RecordAccess(caller, in: scope, for: .reading)
        query = ChangeQuery(type: type(name), predicate: predicate, desiredFields: fields)
    }

    /// The ids without their type, sorted.
    var ids: [String] { held.keys.map { String($0.drop { $0 != "/" }.dropFirst()) }.sorted() }

    /// The revisions of what is held.
    var revisions: [String: Int64] { held.compactMapValues { $0.revision } }

    var token: String? {
        if case .since(let token) = position { token } else { nil }
    }

    /// Reads one page and applies it; returns whether the pass is over.
    @discardableResult
    mutating func readPage(holding: HeldRecords? = nil) async throws -> Bool {
        var request = ChangesRequest(database: .everyone, query: query, position: position, limit: limit)
        request.holding = holding
        last = try await store.changes(request, with: access, retention: retention)
        for id in last.removed {
            held[id] = nil
            removed.append(id)
        }
        for source in last.changed {
            guard let record = source.collected() else { throw UnexpectedOutcome() }
            held[record.id.description] = record
        }
        if let token = last.token { position = .since(token) }
        if let cursor = last.cursor { position = .cursor(cursor) }
        return last.cursor == nil
    }

    /// Reads until the pass is over; returns how many pages it had.
    @discardableResult
    mutating func catchUp(holding: HeldRecords? = nil) async throws -> Int {
        var pages = 1
        while try await !readPage(holding: holding) { pages += 1 }
        return pages
    }

    mutating func go(to position: ChangesRequest.Position) {
        self.position = position
    }

    /// Compares all that is held: drops what is not there, and fetches what differs.
    mutating func compare(pageSize: Int = ChangesRequest.maximumPairs) async throws {
        var there: [String: Int64] = [:]
        var next = ChangesRequest.Position.start
        while true {
            let page = try await store.compare(
                ChangesRequest(database: .everyone, query: query, position: next, limit: pageSize),
                with: access,
                retention: retention
            )
            for pair in page.pairs { there["\(query.type)/\(pair.id)"] = pair.revision }
            if let cursor = page.cursor { next = .cursor(cursor) }
            guard let token = page.token else { continue }
            position = .since(token)
            break
        }
        for id in held.keys where there[id] == nil { held[id] = nil }
        let differing = there.filter { held[$0.key]?.revision != $0.value }.keys
        for outcome in try await store.fetch(differing.map { try RecordID($0) }, with: access) {
            if case .failure = outcome { continue }
            let record = try outcome.record
            held[record.id.description] = record
        }
    }
}

extension Record {
    /// The value of a field by its name.
    subscript(name: String) -> RecordValue? { fields[field(name)] }
}
