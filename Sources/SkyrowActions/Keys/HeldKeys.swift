import SkyrowModel
import SkyrowStore
import Synchronization

/// A snapshot of an application's keys with scopes, indexed by the hash of their texts.
struct HeldKeys: Sendable {
    /// The change counter of the keys in the database; nil before they were read.
    let version: Int64?
    private let keys: [TokenHash: (key: HeldKey, isPrevious: Bool)]
    private let all: [HeldKey]

    static let none = HeldKeys(version: nil, keys: [:], all: [])

    private init(version: Int64?, keys: [TokenHash: (key: HeldKey, isPrevious: Bool)], all: [HeldKey]) {
        self.version = version
        self.keys = keys
        self.all = all
    }

    /// - Parameter former: the keys before, whose usage marks are kept.
    init(_ records: [KeyRecord], version: Int64, after former: HeldKeys) {
        let known = Dictionary(former.all.map { ($0.grant.id, $0) }) { first, _ in first }
        var keys: [TokenHash: (key: HeldKey, isPrevious: Bool)] = [:]
        var all: [HeldKey] = []
        for record in records {
            let key = HeldKey(record.key, after: known[record.key.id])
            all.append(key)
            if let hash = record.previousHash.flatMap({ TokenHash(bytes: $0) }) { keys[hash] = (key, true) }
            if let hash = TokenHash(bytes: record.hash) { keys[hash] = (key, false) }
        }
        self.init(version: version, keys: keys, all: all)
    }

    subscript(hash: TokenHash) -> (key: HeldKey, isPrevious: Bool)? { keys[hash] }

    /// Removes and returns the keys used since the last call, sorted.
    func takeUses() -> [KeyID] {
        all.filter { $0.takeUse() }.map(\.grant.id).sorted()
    }
}

/// A key with scopes that a process keeps in memory, also when it is no longer valid.
final class HeldKey: Sendable {
    let grant: KeyGrant
    let expiresAt: Timestamp?
    let revokedAt: Timestamp?
    let previousUntil: Timestamp?
    private let networks: [AddressRange]
    private let marks: Marks

    /// Usage marks of a key, which survive reloads from the database.
    private final class Marks: Sendable {
        let wasUsed = Atomic(false)
        /// The minute in which a refused use was last audited.
        let refusedIn = Atomic<Int64>(.min)
    }

    init(_ key: StoredKey, after former: HeldKey? = nil) {
        grant = KeyGrant(key.id, named: KeyName(key.name), key.kind, key.scopes)
        expiresAt = key.expiresAt
        revokedAt = key.revokedAt
        previousUntil = key.previousUntil
        networks = key.networks
        marks = former?.marks ?? Marks()
    }

    /// Returns whether the key is accepted.
    ///
    /// - Parameters:
    ///   - isPrevious: whether the request has the text from before the last rotation.
    ///   - address: the client's address; nil for a local socket.
    func counts(isPrevious: Bool, from address: ClientAddress?, at now: Timestamp) -> Bool {
        guard holds(isPrevious: isPrevious, at: now) else { return false }
        guard !networks.isEmpty else { return true }
        guard let address = address ?? HeldKey.machine else { return false }
        return networks.contains { $0.contains(address) }
    }

    /// Returns whether the key is valid, regardless of the client's address.
    func holds(isPrevious: Bool, at now: Timestamp) -> Bool {
        if revokedAt != nil { return false }
        if let expiresAt, expiresAt <= now { return false }
        guard isPrevious else { return true }
        return previousUntil.map { $0 > now } ?? false
    }

    private static let machine = ClientAddress("127.0.0.1")

    /// Marks the key as used, with at most one store between two calls of `takeUse`.
    func noteUse() {
        if !marks.wasUsed.load(ordering: .relaxed) { marks.wasUsed.store(true, ordering: .relaxed) }
    }

    fileprivate func takeUse() -> Bool {
        marks.wasUsed.exchange(false, ordering: .relaxed)
    }

    /// Returns whether a refused use is audited: only the first one of a minute, so that repeated uses don't fill the log.
    func notesRefusal(at now: Timestamp) -> Bool {
        let minute = now.microseconds / 60_000_000
        return marks.refusedIn.exchange(minute, ordering: .relaxed) != minute
    }
}

extension HeldKey: Equatable {
    static func == (a: HeldKey, b: HeldKey) -> Bool { a === b }
}
