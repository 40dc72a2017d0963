internal import SkyrowModel
internal import SkyrowStore
import Synchronization

/// The policy for scans (`query-scans`).
package enum ScanPolicy: String, Hashable, Sendable, CaseIterable {
    case allow
    /// Only the master key may scan large types.
    case largeRefused = "large-refused"

    /// Types with more records are large.
    private static let largeType = 100_000.0

    /// Throws `120 RecordQueryInvalid` for a scan that is not permitted, with the index that would serve.
    func admit(_ cost: QueryCost, by caller: Caller) throws(SkyrowError) {
        guard self == .largeRefused, !caller.isOperator, cost.costClass == .scan, cost.size > Self.largeType else {
            return
        }
        throw SkyrowError(
            .recordQueryInvalid,
            "The query would scan all records of \(cost.type), since no index serves it.\(cost.advice)",
            info: cost.info
        )
    }
}

extension ActionService {
    /// Runs a query in the read queue of its cost class; the master key does not queue.
    ///
    /// `122 ResponseTimeout` includes the cost class of the query, and the index that would serve it.
    func admitting<Success>(
        _ caller: Caller,
        _ turn: ReadTurn?,
        _ body: (@escaping QueryCost.Admission) async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        let known = KnownCost()
        let scans = configuration.scans
        do throws(SkyrowError) {
            return try await body { cost async throws(SkyrowError) in
                known.cost.withLock { $0 = cost }
                try scans.admit(cost, by: caller)
                if !caller.isOperator { try await turn?.move(to: cost.costClass) }
            }
        } catch {
            guard error.code == .responseTimeout, let cost = known.cost.withLock({ $0 }) else { throw error }
            var explained = SkyrowError(
                error.code,
                "\(error.message) The cost class of the query is \(cost.costClass.rawValue).\(cost.advice)",
                info: error.info
            )
            explained.info.merge(cost.info) { own, _ in own }
            throw explained
        }
    }
}

/// The cost of a query, once it is known.
private final class KnownCost: Sendable {
    let cost = Mutex<QueryCost?>(nil)
}

extension QueryCost {
    /// A sentence about the index that would serve; empty without one.
    fileprivate var advice: String {
        guard let index else { return "" }
        let fields = index.fields.map(\.name).joined(separator: ", ")
        return " An index of \(index.type) of the kind \(index.kind.rawValue) on \(fields) would serve it."
    }

    fileprivate var info: [String: ErrorInfo] {
        var info: [String: ErrorInfo] = ["cost_class": .string(costClass.rawValue)]
        guard let index else { return info }
        info["index_kind"] = .string(index.kind.rawValue)
        info["index_fields"] = .list(index.fields.map { .string($0.name) })
        return info
    }
}
