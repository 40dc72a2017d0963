import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The kinds of subscriptions, which have separate limits.
enum SubscriptionKind {
    /// Subscriptions to changes; each takes a slot.
    case changes
    /// Subscriptions to results; equal ones with equal access share a slot.
    case results

    func perConnection(_ limits: SubscriptionLimits) -> Int {
        self == .changes ? limits.perConnection : limits.watchesPerConnection
    }

    func perUser(_ limits: SubscriptionLimits) -> Int {
        self == .changes ? limits.perUser : limits.watchesPerUser
    }

    func total(_ limits: SubscriptionLimits) -> Int {
        self == .changes ? limits.total : limits.watches
    }

    fileprivate var noun: String { self == .changes ? "subscriptions" : "watched queries" }
}

/// The subscriptions of a kind by connection and credentials, and their number by user.
///
/// ```swift
/// try book.requireRoom(on: connection, for: holder)
/// book.add(number, of: holder, asksRelations: false, on: connection)
/// book.numbers(of: connection)  // [number]
/// ```
struct SubscriptionBook {
    typealias Connection = Int
    /// The number of a subscription.
    typealias Number = Int

    /// The subscriptions of a connection with the same credentials.
    struct Party {
        let holder: LiveHolder
        fileprivate(set) var count = 0
        /// The number of its subscriptions that depend on relations of users.
        fileprivate(set) var relatedCount = 0
    }

    /// The subscriptions of one connection.
    struct Account {
        fileprivate(set) var numbers: [Number] = []
        /// Mostly one; a connection may get other credentials.
        fileprivate(set) var parties: [Party] = []
    }

    private let kind: SubscriptionKind
    private let limits: SubscriptionLimits
    private(set) var accounts: [Connection: Account] = [:]
    private var shares: [LiveShare: Int] = [:]

    init(of kind: SubscriptionKind, _ limits: SubscriptionLimits) {
        self.kind = kind
        self.limits = limits
    }

    /// Throws `135 Overloaded` when a connection or a user has reached its limit.
    func requireRoom(on connection: Connection, for holder: LiveHolder) throws(SkyrowError) {
        let (perConnection, perUser) = (kind.perConnection(limits), kind.perUser(limits))
        guard numbers(of: connection).count < perConnection else {
            throw SkyrowError(.overloaded, "A connection can have at most \(perConnection) \(kind.noun).")
        }
        if let share = holder.share, shares[share] ?? 0 >= perUser {
            throw SkyrowError(.overloaded, "A user can have at most \(perUser) \(kind.noun) over all connections.")
        }
    }

    /// Returns the equal holder that the connection already has; otherwise the given one.
    func known(_ holder: LiveHolder, on connection: Connection) -> LiveHolder {
        accounts[connection]?.parties.first { $0.holder.isSame(as: holder) }?.holder ?? holder
    }

    /// - Parameter holder: the result of ``known(_:on:)``.
    mutating func add(_ number: Number, of holder: LiveHolder, asksRelations: Bool, on connection: Connection) {
        var account = accounts.removeValue(forKey: connection) ?? Account()
        defer { accounts[connection] = account }
        account.numbers.append(number)
        let place = account.parties.firstIndex { $0.holder === holder } ?? account.parties.count
        if place == account.parties.count { account.parties.append(Party(holder: holder)) }
        account.parties[place].count += 1
        if asksRelations { account.parties[place].relatedCount += 1 }
        if let share = holder.share { shares[share, default: 0] += 1 }
    }

    mutating func remove(_ number: Number, of holder: LiveHolder, asksRelations: Bool, on connection: Connection) {
        guard var account = accounts.removeValue(forKey: connection) else { return }
        account.numbers.removeAll { $0 == number }
        if let place = account.parties.firstIndex(where: { $0.holder === holder }) {
            account.parties[place].count -= 1
            if asksRelations { account.parties[place].relatedCount -= 1 }
            if account.parties[place].count == 0 { account.parties.remove(at: place) }
        }
        if !account.numbers.isEmpty { accounts[connection] = account }
        guard let share = holder.share else { return }
        shares[share, default: 1] -= 1
        if shares[share] == 0 { shares[share] = nil }
    }

    func numbers(of connection: Connection) -> [Number] { accounts[connection]?.numbers ?? [] }
}

/// The tables of the types of subscription groups, as they were when the groups began: one for each type, except while it
/// changes.
struct FollowedTables {
    private var known: [RecordTypeName: (tables: [RecordTable], groups: Int)] = [:]

    var types: Set<RecordTypeName> { Set(known.keys) }

    /// Returns the last table of a type.
    func table(of type: RecordTypeName) -> RecordTable? { known[type]?.tables.last }

    /// - Parameter isOfGroup: whether it is added for a new group.
    mutating func add(_ table: RecordTable, isOfGroup: Bool) {
        var entry = known.removeValue(forKey: table.name) ?? ([], 0)
        if !entry.tables.contains(where: { $0 === table }) { entry.tables.append(table) }
        if isOfGroup { entry.groups += 1 }
        known[table.name] = entry
    }

    /// Notes that a group of a type has ended.
    mutating func leave(_ type: RecordTypeName) {
        known[type]?.groups -= 1
        if known[type]?.groups == 0 { known[type] = nil }
    }

    /// Updates the tables; returns why the subscriptions of types end, if they do.
    mutating func take(_ current: (RecordTypeName) -> RecordTable?) -> [RecordTypeName: LiveReset] {
        var resets: [RecordTypeName: LiveReset] = [:]
        for (type, entry) in known {
            let table = current(type)
            if entry.tables.count == 1, entry.tables.first === table { continue }
            let reason = table.map { table in entry.tables.lazy.compactMap { table.reset(after: $0) }.first } ?? .schema
            if let reason { resets[type] = reason } else if let table { known[type]?.tables = [table] }
        }
        return resets
    }
}
