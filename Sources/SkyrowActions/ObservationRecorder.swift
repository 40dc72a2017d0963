package import Logging
import Metrics
import SkyrowModel
import Synchronization

/// Turns observations into log lines and counters.
///
/// Every label is of a bounded set: action names and the names of registered codes.
package final class ObservationRecorder: Sendable {
    private let logger: Logger
    private let factory: any MetricsFactory
    private let counters = Mutex<[Series: Counter]>([:])

    fileprivate struct Series: Hashable {
        var name: String
        var action: ActionName?
        var code: ErrorCode?
    }

    package convenience init(logger: Logger) {
        self.init(logger: logger, factory: MetricsSystem.factory)
    }

    init(logger: Logger, factory: any MetricsFactory) {
        self.logger = logger
        self.factory = factory
    }

    package func record(_ observation: Observation) {
        count(observation)
        log(observation)
    }

    private func count(_ observation: Observation) {
        switch observation {
        case .answered(let action, let code): increment("skyrow_actions_total", action: action, code: code)
        case .refused(let code): increment("skyrow_refusals_total", code: code)
        case .passwordHashed: increment("skyrow_password_hashes_total")
        case .passwordQueueFull: increment("skyrow_password_queue_full_total")
        case .sessionLoaded: increment("skyrow_session_loads_total")
        case .sessionsForgotten: increment("skyrow_session_revocations_total")
        case .purged(let sessions, let keys):
            increment("skyrow_purged_sessions_total", by: sessions)
            increment("skyrow_purged_idempotency_keys_total", by: keys)
        case .listening, .purgeFailed: break
        }
    }

    private func log(_ observation: Observation) {
        switch observation {
        case .answered(let action, let code):
            // What a caller got wrong is for the caller; what we got wrong is for the log.
            guard let code, code.isServerFault else { return }
            logger.error("An action failed", metadata: ["action": "\(action.rawValue)", "error": "\(code.name)"])
        case .refused(let code):
            logger.debug("Credentials were refused", metadata: ["error": "\(code.name)"])
        case .passwordQueueFull:
            logger.warning("Too many passwords wait to be hashed")
        case .listening(let again):
            if again { logger.notice("Listening for ended sessions again") }
        case .purged(let sessions, let keys):
            guard sessions + keys > 0 else { return }
            logger.info(
                "Removed what has expired",
                metadata: ["sessions": "\(sessions)", "idempotency_keys": "\(keys)"]
            )
        case .purgeFailed(let reason):
            logger.warning("What has expired could not be removed", metadata: ["error": "\(reason)"])
        case .passwordHashed, .sessionLoaded, .sessionsForgotten:
            break
        }
    }

    private func increment(_ name: String, action: ActionName? = nil, code: ErrorCode? = nil, by amount: Int = 1) {
        let series = Series(name: name, action: action, code: code)
        let counter = counters.withLock { counters in
            if let counter = counters[series] { return counter }
            let counter = Counter(label: name, dimensions: series.dimensions, factory: factory)
            counters[series] = counter
            return counter
        }
        counter.increment(by: amount)
    }
}

extension ObservationRecorder.Series {
    fileprivate var dimensions: [(String, String)] {
        var dimensions: [(String, String)] = []
        if let action {
            dimensions.append(("action", action.rawValue))
            dimensions.append(("outcome", code?.label ?? "OK"))
        } else if let code {
            dimensions.append(("outcome", code.label))
        }
        return dimensions
    }
}

extension ErrorCode {
    /// The registered name; one label stands for all others, so that labels stay bounded.
    fileprivate var label: String {
        ErrorCode.names[self] ?? "Other"
    }

    /// Whether the failure is the service's own.
    fileprivate var isServerFault: Bool {
        rawValue >= 10_000 || self == .outcomeUnknown
    }
}
