import SkyrowActions
import Synchronization

/// The two pools of the memory for bodies.
///
/// Unauthenticated clients use the second pool only, so their incomplete bodies take nothing from authenticated ones.
enum BodyPool: Sendable {
    /// Bodies whose request has an accepted key or a cached session, or that arrived completely at once.
    case accepted
    /// Bodies of requests whose sender is not verified yet.
    case unverified
}

/// The limits of one pool, depending on how much of it is taken.
///
/// The last `reserve` bytes are for the first bytes of bodies only, so that large bodies never keep small ones out. A client has
/// its share of the pool, and within the reserve its share of the reserve.
struct BodyPoolLimits: Hashable, Sendable {
    let size: Int
    let reserve: Int
    private let longest: Int
    private let share: ClientShare

    /// - Parameter longest: The limit of one body; a share is never less.
    init(size: Int, longest: Int, share: ClientShare) {
        self.size = size
        self.longest = longest
        self.share = share
        reserve = max(0, min(size / 8, size - longest))
    }

    /// How many bytes of the pool may be taken in total.
    func total(isSmall: Bool) -> Int { isSmall ? size : size - reserve }

    /// How many bytes a client may take.
    ///
    /// - Parameter used: The taken bytes of the pool, including the new ones.
    func client(used: Int) -> Int {
        used > size - reserve ? share.client(of: reserve) : max(share.client(of: size), longest)
    }

    /// How many bytes a site may take.
    func site(used: Int) -> Int {
        used > size - reserve ? share.site(of: reserve) : max(share.site(of: size), longest)
    }
}

/// The bytes of bodies in memory, across all event loops, in total and per client.
final class BodyMemory: Sendable {
    /// Up to this many bytes of every body count as small.
    let small: Int
    private let accepted: BodyPoolLimits
    private let unverified: BodyPoolLimits
    private let acceptedBytes = Atomic<Int>(0)
    private let unverifiedBytes = Atomic<Int>(0)

    init(_ limits: HTTPLimits) {
        let share = ClientShare(percent: limits.clientShare)
        small = limits.smallBody
        accepted = BodyPoolLimits(size: limits.bodiesInMemory, longest: limits.body, share: share)
        let size = min(limits.bodiesInMemory, max(limits.bodiesInMemory / 8, limits.body))
        unverified = BodyPoolLimits(size: size, longest: limits.body, share: share)
    }

    var bytes: Int { acceptedBytes.load(ordering: .relaxed) + unverifiedBytes.load(ordering: .relaxed) }

    /// Takes bytes out of a pool for a client; when they do not fit, takes nothing and returns the reason.
    func take(_ count: Int, from pool: BodyPool, isSmall: Bool, for usage: ClientUsage?) -> HTTPFault? {
        let limits = pool == .accepted ? accepted : unverified
        let used = add(count, to: pool)
        var fault: HTTPFault? = used <= limits.total(isSmall: isSmall) ? nil : .overloaded
        if let usage {
            let isBeyond = usage.add(count, to: pool) > limits.client(used: used)
            let siteIsBeyond = usage.site.map { $0.add(count, to: pool) > limits.site(used: used) } ?? false
            if fault == nil, isBeyond || siteIsBeyond { fault = .clientShareExceeded }
        }
        if fault != nil { release(count, from: pool, for: usage) }
        return fault
    }

    func release(_ count: Int, from pool: BodyPool, for usage: ClientUsage?) {
        _ = add(-count, to: pool)
        _ = usage?.add(-count, to: pool)
        _ = usage?.site?.add(-count, to: pool)
    }

    private func add(_ count: Int, to pool: BodyPool) -> Int {
        switch pool {
        case .accepted: acceptedBytes.wrappingAdd(count, ordering: .relaxed).newValue
        case .unverified: unverifiedBytes.wrappingAdd(count, ordering: .relaxed).newValue
        }
    }
}

extension ClientUsage {
    fileprivate func add(_ count: Int, to pool: BodyPool) -> Int {
        switch pool {
        case .accepted: counts.acceptedBytes.wrappingAdd(count, ordering: .relaxed).newValue
        case .unverified: counts.unverifiedBytes.wrappingAdd(count, ordering: .relaxed).newValue
        }
    }
}

/// The memory of one request's body.
struct BodyHold: Sendable {
    private let memory: BodyMemory
    private let pool: BodyPool
    private let usage: ClientUsage?
    /// The limit of a body without credentials in its head.
    private let limit: Int
    private(set) var bytes = 0

    init(_ memory: BodyMemory, pool: BodyPool, usage: ClientUsage?, limit: Int = .max) {
        self.memory = memory
        self.pool = pool
        self.usage = usage
        self.limit = limit
    }

    /// Takes memory for the next part of the body; returns the reason when it does not fit.
    mutating func take(_ count: Int) -> HTTPFault? {
        guard bytes + count <= limit else { return .credentialsRequired }
        let isSmall = bytes + count <= memory.small
        if let fault = memory.take(count, from: pool, isSmall: isSmall, for: usage) { return fault }
        bytes += count
        return nil
    }

    /// Releases the memory of a part of the body.
    mutating func release(_ count: Int) {
        memory.release(count, from: pool, for: usage)
        bytes -= count
    }

    /// Releases all memory; must be the last call.
    func release() {
        memory.release(bytes, from: pool, for: usage)
    }
}
