import SkyrowModel
import SkyrowQuery

/// What the subscriptions of clients take of what all of them have: places, and memory.
struct LiveShares {
    /// Queries of a type in one database that every change is judged for.
    private struct ScanPlace: Hashable {
        let database: DatabaseScope
        let type: RecordTypeName
    }

    /// What is kept of a record that matches, more or less.
    private static let memberBytes = 512
    /// How many members are counted at once.
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

    /// Bytes that some members take.
    static func bytes(ofMembers count: Int) -> Int {
        (count + memberCount - 1) / memberCount * memberCount * memberBytes
    }

    // MARK: Places

    /// Takes a place and its bytes; throws `135 Overloaded` where the client has no share left.
    mutating func enter(_ bytes: Int, of client: ClientKey?) throws(SkyrowError) {
        if let refusal = places.refusal(of: 1, to: client) { throw .noPlaceLeft(refusal, of: kind, places.limit) }
        if let refusal = memory.refusal(of: bytes, to: client) { throw .noMemoryLeft(refusal) }
        take(1, bytes, for: client)
    }

    mutating func leave(_ bytes: Int, of client: ClientKey?) { take(-1, -bytes, for: client) }

    /// Has another client pay for a place and its bytes.
    mutating func passPlace(_ bytes: Int, from client: ClientKey?, to heir: ClientKey?) {
        leave(bytes, of: client)
        take(1, bytes, for: heir)
    }

    private mutating func take(_ count: Int, _ bytes: Int, for client: ClientKey?) {
        places.take(count, for: client)
        memory.take(bytes, for: client)
    }

    /// Why a client gets no query more that every change of a type is judged for; nil where it does.
    func refusalOfScan(_ database: DatabaseScope, _ type: RecordTypeName, for client: ClientKey?) -> ClientShares
        .Refusal?
    {
        let scans = scans[ScanPlace(database: database, type: type)] ?? ClientShares(limit: limits.scans, limits.share)
        return scans.refusal(of: 1, to: client)
    }

    /// Counts a query that every change of a type is judged for; a negative number for one that ends.
    mutating func countScan(_ count: Int, _ database: DatabaseScope, _ type: RecordTypeName, for client: ClientKey?) {
        let place = ScanPlace(database: database, type: type)
        var held = scans[place] ?? ClientShares(limit: limits.scans, limits.share)
        held.take(count, for: client)
        scans[place] = held.isUnused ? nil : held
    }

    // MARK: Memory

    /// Takes bytes; false, and nothing is taken, where the client has no share left.
    mutating func take(_ bytes: Int, for client: ClientKey?) -> Bool {
        guard bytes <= 0 || memory.refusal(of: bytes, to: client) == nil else { return false }
        memory.take(bytes, for: client)
        return true
    }

    /// Has another client pay for bytes that are held.
    mutating func pass(_ bytes: Int, from client: ClientKey?, to heir: ClientKey?) {
        memory.take(-bytes, for: client)
        memory.take(bytes, for: heir)
    }
}

extension LiveRegistry {
    /// Counts the members of a group; false where its client has no share left for them.
    mutating func countMembers(of number: SubscriptionIndex.Group) -> Bool {
        guard let group = groups[number]?.value else { return true }
        let bytes = LiveShares.bytes(ofMembers: membership.count(of: number))
        guard bytes != group.memberBytes else { return true }
        guard clientShares.take(bytes - group.memberBytes, for: group.payer) else { return false }
        groups[number]?.memberBytes = bytes
        return true
    }

    /// Whether the client of a group has a share left for this many members.
    func hasRoom(forMembers count: Int, of number: SubscriptionIndex.Group) -> Bool {
        guard let group = groups[number]?.value else { return true }
        let bytes = LiveShares.bytes(ofMembers: count) - group.memberBytes
        return bytes <= 0 || clientShares.memory.refusal(of: bytes, to: group.payer) == nil
    }

    /// Keeps an event until a subscription is live; where its client has no share left for it, the records are read again.
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

    /// Gives back what events took that waited for a subscription.
    mutating func releaseBuffer(of number: Subscriber) {
        guard let bytes = buffered.removeValue(forKey: number) else { return }
        _ = clientShares.take(-bytes, for: subscribers[number]?.holder.paying)
    }
}

extension LiveSubscriber {
    /// What it holds, besides what it has in common with its group.
    var heldBytes: Int { question.heldBytes + (filter?.heldBytes ?? 0) }
}

extension SkyrowError {
    /// `135` for places beyond the share of a client, or beyond all that there may be.
    fileprivate static func noPlaceLeft(
        _ refusal: ClientShares.Refusal,
        of kind: SubscriptionKind,
        _ total: Int
    ) -> SkyrowError {
        let message =
            switch (refusal, kind) {
            case (.all, .changes): "The service has as many subscriptions as it may, \(total), and takes no more."
            case (.all, .results):
                "The service has as many queries that it asks again as it may, \(total), and takes no more."
            case (.client(let most), .changes):
                "The subscriptions of one client are at most \(most), over all connections."
            case (.client(let most), .results):
                "One client has at most \(most) different queries that are asked again, over all connections."
            }
        return SkyrowError(.overloaded, message)
    }

    /// `135` for what live queries hold beyond the share of a client, or beyond all that they may.
    static func noMemoryLeft(_ refusal: ClientShares.Refusal) -> SkyrowError {
        switch refusal {
        case .all:
            SkyrowError(.overloaded, "Live queries hold as much memory as they may; try again later.")
        case .client(let most):
            SkyrowError(
                .overloaded,
                "The live queries of one client hold at most \(most) bytes: of conditions and lists of values, of records that match "
                    + "where these are kept, and of events that wait. Ask for less, or end others."
            )
        }
    }

    static func tooManyScans(of type: RecordTypeName, ofClient limit: Int) -> SkyrowError {
        SkyrowError(
            .overloaded,
            "One client has at most \(limit) live queries of \(type) that every change has to be compared with: ask for certain values of "
                + "a field with \"eq\", \"in\" or \"contains\"."
        )
    }
}
