import SkyrowActions
import Synchronization

/// The numbers of connections, in total and per client.
final class ConnectionCount: Sendable {
    /// What happens to an accepted connection.
    enum Verdict: Hashable, Sendable {
        case open
        /// Above the limit; gets the reason.
        case refused(HTTPFault)
        /// Far above the limit; closed without a response.
        case dropped
    }

    private let limit: Int
    private let share: ClientShare
    private let count = Atomic<Int>(0)
    private let beingRefused = Atomic<Int>(0)
    private let total = Atomic<Int>(0)
    private let tooMany = Atomic<Int>(0)

    init(_ limits: HTTPLimits) {
        limit = limits.connections
        share = ClientShare(percent: limits.clientShare)
    }

    var open: Int { count.load(ordering: .relaxed) }
    var accepted: Int { total.load(ordering: .relaxed) }
    var refused: Int { tooMany.load(ordering: .relaxed) }

    /// Counts a connection; `close` reverts it.
    ///
    /// - Parameter usage: nil for a proxy, whose connections serve many clients.
    func add(_ usage: ClientUsage?) -> Verdict {
        total.wrappingAdd(1, ordering: .relaxed)
        guard let fault = fault(usage) else { return .open }
        tooMany.wrappingAdd(1, ordering: .relaxed)
        guard beingRefused.wrappingAdd(1, ordering: .relaxed).newValue <= ConnectionCount.refusalsAtOnce else {
            beingRefused.wrappingSubtract(1, ordering: .relaxed)
            return .dropped
        }
        return .refused(fault)
    }

    /// Counts a connection if it is within all limits; returns the fault otherwise.
    private func fault(_ usage: ClientUsage?) -> HTTPFault? {
        var fault: HTTPFault? = count.wrappingAdd(1, ordering: .relaxed).newValue <= limit ? nil : .overloaded
        if let usage {
            let isBeyond = usage.addConnection() > share.client(of: limit)
            let siteIsBeyond = usage.site.map { $0.addConnection() > share.site(of: limit) } ?? false
            if fault == nil, isBeyond || siteIsBeyond { fault = .clientShareExceeded }
        }
        if fault != nil { close(.open, usage) }
        return fault
    }

    func close(_ verdict: Verdict, _ usage: ClientUsage?) {
        switch verdict {
        case .open:
            count.wrappingSubtract(1, ordering: .relaxed)
            usage?.counts.connections.wrappingSubtract(1, ordering: .relaxed)
            usage?.site?.counts.connections.wrappingSubtract(1, ordering: .relaxed)
        case .refused:
            beingRefused.wrappingSubtract(1, ordering: .relaxed)
        case .dropped:
            break
        }
    }

    /// How many connections above the limits get the reason before they are closed.
    private static let refusalsAtOnce = 128
}

extension ClientUsage {
    fileprivate func addConnection() -> Int {
        counts.connections.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
