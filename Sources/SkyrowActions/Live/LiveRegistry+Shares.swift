import SkyrowModel
import SkyrowQuery

/// The shares of clients in the service's limits on subscriptions and memory.
struct LiveShares {
    /// The queries of a type in one database that every change is compared with.
    private struct ScanPlace: Hashable {
        let database: DatabaseScope
        let type: RecordTypeName
    }

    /// An estimate of the bytes of a member.
    private static let memberBytes = 512
    /// The step in which members are counted.
    private static let memberCount = 64

    private let kind: SubscriptionKind
    private let limits: SubscriptionLimits
    private(set) var places: ClientShares
    private(set) var memory: ClientShares
    private var scans: [ScanPlace: ClientShares] = [:]

    init(of kind: SubscriptionKind, _ limits: SubscriptionLimits) {
        self.kind = kind
        self.limits = limits
        places = ClientShares(limit: kind.total(limits), limits.share)
        memory = ClientShares(limit: limits.memory, limits.share)
    }

    /// Returns the bytes to account for some members.
    static func bytes(ofMembers count: Int) -> Int {
        (count + memberCount - 1) / memberCount * memberCount * memberBytes
    }

    // MARK: Places

    /// Takes a slot and its bytes; throws `135 Overloaded` when the client exceeds its share.
    mutating func enter(_ bytes: Int, of client: ClientKey?) throws(SkyrowError) {
        if let refusal = places.refusal(of: 1, to: client) { throw .noPlaceLeft(refusal, of: kind, places.limit) }
        if let refusal = memory.refusal(of: bytes, to: client) { throw .noMemoryLeft(refusal) }
        take(1, bytes, for: client)
    }

    mutating func leave(_ bytes: Int, of client: ClientKey?) { take(-1, -bytes, for: client) }

    /// Transfers a slot and its bytes to another client.
    mutating func passPlace(_ bytes: Int, from client: ClientKey?, to heir: ClientKey?) {
        leave(bytes, of: client)
        take(1, bytes, for: heir)
    }

    private mutating func take(_ count: Int, _ bytes: Int, for client: ClientKey?) {
        places.take(count, for: client)
        memory.take(bytes, for: client)
    }

    /// Returns why a client gets no further query that every change of a type is compared with; nil if it does.
    func refusalOfScan(_ database: DatabaseScope, _ type: RecordTypeName, for client: ClientKey?) -> ClientShares
        .Refusal?
    {
        let scans = scans[ScanPlace(database: database, type: type)] ?? ClientShares(limit: limits.scans, limits.share)
        return scans.refusal(of: 1, to: client)
    }

    /// Counts queries that every change of a type is compared with; negative for those that end.
    mutating func countScan(_ count: Int, _ database: DatabaseScope, _ type: RecordTypeName, for client: ClientKey?) {
        let place = ScanPlace(database: database, type: type)
        var held = scans[place] ?? ClientShares(limit: limits.scans, limits.share)
        held.take(count, for: client)
        scans[place] = held.isUnused ? nil : held
    }

    // MARK: Memory

    /// Takes bytes; returns false and takes nothing when the client exceeds its share.
    mutating func take(_ bytes: Int, for client: ClientKey?) -> Bool {
        guard bytes <= 0 || memory.refusal(of: bytes, to: client) == nil else { return false }
        memory.take(bytes, for: client)
        return true
    }

    /// Transfers bytes to another client.
    mutating func pass(_ bytes: Int, from client: ClientKey?, to heir: ClientKey?) {
        memory.take(-bytes, for: client)
        memory.take(bytes, for: heir)
    }
}

extension LiveRegistry {
    /// Updates the bytes of a group's members; returns false when its client exceeds its share.
    mutating func countMembers(of number: SubscriptionIndex.Group) -> Bool {
        guard let group = groups[number]?.value else { return true }
        let bytes = LiveShares.bytes(ofMembers: membership.count(of: number))
        guard bytes != group.memberBytes else { return true }
        guard clientShares.take(bytes - group.memberBytes, for: group.payer) else { return false }
        groups[number]?.memberBytes = bytes
        return true
    }

    /// Returns whether the share of a group's client has room for some members.
    func hasRoom(forMembers count: Int, of number: SubscriptionIndex.Group) -> Bool {
        guard let group = groups[number]?.value else { return true }
        let bytes = LiveShares.bytes(ofMembers: count) - group.memberBytes
        return bytes <= 0 || clientShares.memory.refusal(of: bytes, to: group.payer) == nil
    }

    /// Buffers an event until a subscription is live; when the client exceeds its share, the subscription loads again.
    mutating func keep(_ event: [[UInt8]], of mark: CommittedMark, for number: Subscriber) {
        let bytes = event.reduce(0) { $0 + $1.count }
        guard let client = subscribers[number]?.holder.paying else {
            subscribers[number]?.value.keep(event, of: mark, limit: limits.bufferBytes)
            return
        }
        guard clientShares.take(bytes, for: client) else {
            overflow(number)
            return
        }
        subscribers[number]?.value.keep(event, of: mark, limit: limits.bufferBytes)
        buffered[number, default: 0] += bytes
    }

    /// Returns the bytes of a subscription's buffered events.
    mutating func releaseBuffer(of number: Subscriber) {
        guard let bytes = buffered.removeValue(forKey: number) else { return }
        _ = clientShares.take(-bytes, for: subscribers[number]?.holder.paying)
    }
}

extension LiveSubscriber {
    /// The bytes that it holds, without what it shares with its group.
    var heldBytes: Int { question.heldBytes + (filter?.heldBytes ?? 0) }
}

extension SkyrowError {
    /// `135` for more slots than the share of a client, or than the service has.
    fileprivate static func noPlaceLeft(
        _ refusal: ClientShares.Refusal,
        of kind: SubscriptionKind,
        _ total: Int
    ) -> SkyrowError {
        let message =
            switch (refusal, kind) {
            case (.all, .changes): "The service has reached its limit of \(total) subscriptions."
            case (.all, .results):
                "The service has reached its limit of \(total) watched queries."
            case (.client(let most), .changes):
                "A client can have at most \(most) subscriptions over all connections."
            case (.client(let most), .results):
                "A client can have at most \(most) different watched queries over all connections."
            }
        return SkyrowError(.overloaded, message)
    }

    /// `135` for more memory than the share of a client, or than all live queries may have.
    static func noMemoryLeft(_ refusal: ClientShares.Refusal) -> SkyrowError {
        switch refusal {
        case .all:
            SkyrowError(.overloaded, "Live queries have reached their memory limit; try again later.")
        case .client(let most):
            SkyrowError(
                .overloaded,
                "The live queries of a client can use at most \(most) bytes, for conditions and lists of values, matching "
                    + "records where these are kept, and pending events. Narrow the query, or end other live queries."
            )
        }
    }

    static func tooManyScans(of type: RecordTypeName, ofClient limit: Int) -> SkyrowError {
        SkyrowError(
            .overloaded,
            "A client can have at most \(limit) live queries of \(type) that are compared with every change: "
                + "restrict a field to certain values with \"eq\", \"in\" or \"contains\"."
        )
    }
}
