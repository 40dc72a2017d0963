package import Logging
package import Metrics
package import SkyrowModel
import SkyrowProtocol

/// Records observations as log lines and metrics.
package final class ObservationRecorder: Sendable {
    private let logger: Logger
    private let actions: OutcomeCounters
    private let refusals: OutcomeCounters
    private let denials: LazyTable<Counter>
    private let logIns: OutcomeCounters
    private let codes: LazyTable<Counter>
    private let passwordTimes: Metrics.Timer
    private let audiences: Recorder
    private let passwordHashes: Counter
    private let passwordQueueFull: Counter
    private let sessionsMissed: Counter
    private let guessesRefused: Counter
    private let tokensReused: Counter
    private let sessionsForgotten: Counter
    private let sessionsPurged: Counter
    private let keysPurged: Counter
    private let mails: [MailResult: Counter]
    private let providerKeys: [Bool: Counter]
    private let live: LiveMetrics
    private let fileRequests: OutcomeCounters
    private let fileBytes: [FileWay: Counter]
    private let filesCollected: Counter
    private let thumbnails: [ThumbnailOutcome: Metrics.Timer]
    private let accountsDeleted: Counter
    private let deletionsFailed: Counter
    private let hooksFailed: Counter
    private let hooksSkipped: Counter

    package init(of application: ApplicationName = .default, logger: Logger, factory: any MetricsFactory) {
        var logger = logger
        // The default application has no such field in its log lines.
        if application != .default { logger[metadataKey: "application"] = "\(application)" }
        self.logger = logger
        let names = ActionTable.all.map(\.description.name.rawValue)
        let label = [("application", application.rawValue)]
        func counter(_ name: String) -> Counter { Counter(label: name, dimensions: label, factory: factory) }
        actions = OutcomeCounters("skyrow_actions_total", of: label, values: names, factory: factory)
        refusals = OutcomeCounters("skyrow_refusals_total", of: label, values: [nil], factory: factory)
        denials = LazyTable(count: AccessLayer.allCases.count) { place in
            let labels = label + [("layer", AccessLayer.allCases[place].rawValue)]
            return Counter(label: "skyrow_access_denied_total", dimensions: labels, factory: factory)
        }
        logIns = OutcomeCounters(
            "skyrow_logins_total",
            of: label,
            label: "method",
            values: LogInMethod.allCases.map(\.rawValue),
            factory: factory
        )
        codes = LazyTable(count: CodeUse.all.count) { place in
            let use = CodeUse.all[place]
            let labels = label + [("kind", use.kind.rawValue), ("outcome", use.outcome.rawValue)]
            return Counter(label: "skyrow_codes_total", dimensions: labels, factory: factory)
        }
        audiences = Recorder(label: "skyrow_audience_roles", dimensions: label, aggregate: true, factory: factory)
        // Passwords of all applications share the hashing threads.
        passwordHashes = Counter(label: "skyrow_password_hashes_total", factory: factory)
        passwordQueueFull = Counter(label: "skyrow_password_queue_full_total", factory: factory)
        passwordTimes = Metrics.Timer(label: "skyrow_password_hash_seconds", factory: factory)
        sessionsMissed = counter("skyrow_session_cache_misses_total")
        guessesRefused = counter("skyrow_guesses_refused_total")
        tokensReused = counter("skyrow_session_token_reuses_total")
        sessionsForgotten = counter("skyrow_session_revocations_total")
        sessionsPurged = counter("skyrow_purged_sessions_total")
        keysPurged = counter("skyrow_purged_idempotency_keys_total")
        func deletions(_ outcome: String) -> Counter {
            let labels = label + [("outcome", outcome)]
            return Counter(label: "skyrow_account_deletions_total", dimensions: labels, factory: factory)
        }
        accountsDeleted = deletions("finished")
        deletionsFailed = deletions("failed")
        mails = Dictionary(
            uniqueKeysWithValues: MailResult.allCases.map { result in
                let labels = label + [("outcome", result.rawValue)]
                return (result, Counter(label: "skyrow_mail_total", dimensions: labels, factory: factory))
            }
        )
        live = LiveMetrics(of: label, factory: factory)
        fileRequests = OutcomeCounters(
            "skyrow_file_requests_total",
            of: label,
            label: "way",
            values: FileWay.allCases.map(\.rawValue),
            factory: factory
        )
        fileBytes = Dictionary(
            uniqueKeysWithValues: FileWay.allCases.map { way in
                let labels = label + [("way", way.rawValue)]
                return (way, Counter(label: "skyrow_file_bytes_total", dimensions: labels, factory: factory))
            }
        )
        filesCollected = counter("skyrow_file_collected_total")
        hooksFailed = counter("skyrow_hook_failures_total")
        hooksSkipped = counter("skyrow_hooks_skipped_total")
        thumbnails = Dictionary(
            uniqueKeysWithValues: ThumbnailOutcome.allCases.map { outcome in
                let labels = label + [("outcome", outcome.rawValue)]
                let timer = Metrics.Timer(label: "skyrow_thumbnail_seconds", dimensions: labels, factory: factory)
                return (outcome, timer)
            }
        )
        providerKeys = Dictionary(
            uniqueKeysWithValues: [true, false].map { isFetched in
                let labels = label + [("outcome", isFetched ? "fetched" : "failed")]
                let counter = Counter(label: "skyrow_provider_keys_total", dimensions: labels, factory: factory)
                return (isFetched, counter)
            }
        )
    }

    package func record(_ observation: Observation) {
        count(observation)
        log(observation)
    }

    private func count(_ observation: Observation) {
        switch observation {
        case .completed(let action, let code):
            let action = ActionTable.ordinal(of: action)
            actions.increment(action, code)
            if let use = CodeUse(action, code) { codes[use.ordinal].increment() }
        case .refused(let code):
            refusals.increment(0, code)
            denials[AccessLayer.credentials.ordinal].increment()
        case .accessDenied(let layer): denials[layer.ordinal].increment()
        case .loggedIn(let method, let code): logIns.increment(method.ordinal, code)
        case .passwordTimed(let time): passwordTimes.record(duration: time)
        case .audienceLoaded(let roles): audiences.record(roles)
        case .passwordHashed: passwordHashes.increment()
        case .passwordQueueFull: passwordQueueFull.increment()
        case .sessionLoaded: sessionsMissed.increment()
        case .guessRefused: guessesRefused.increment()
        case .tokenReused: tokensReused.increment()
        case .sessionsForgotten: sessionsForgotten.increment()
        case .purged(let sessions, let keys):
            sessionsPurged.increment(by: sessions)
            keysPurged.increment(by: keys)
        case .mail(let result, let count): mails[result]?.increment(by: count)
        case .providerKeysFetched(_, let failure): providerKeys[failure == nil]?.increment()
        case .changesFollowed(let source): live.followed(source)
        case .changesInterrupted(let reason, _): live.interrupted(reason)
        case .changesDispatched(let rows, let events, let candidates, let age):
            live.dispatched(rows: rows, events, candidates, age)
        case .liveQueries(let count): live.counted(count)
        case .liveReset(let reason): live.reset(reason)
        case .feedFetched(let rows): live.fetched(rows)
        case .feedReset(let reason): live.feedReset(reason)
        case .fileTransferred(let way, let code): fileRequests.increment(way.ordinal, code)
        case .fileBytes(let way, let bytes): fileBytes[way]?.increment(by: bytes)
        case .filesCollected(let count): filesCollected.increment(by: count)
        case .thumbnailMade(let outcome, let time): thumbnails[outcome]?.record(duration: time)
        case .accountDeleted: accountsDeleted.increment()
        case .deletionFailed: deletionsFailed.increment()
        case .hookFailed: hooksFailed.increment()
        case .hooksSkipped(let count): hooksSkipped.increment(by: count)
        case .listening, .tokenRefused, .signInFailed, .mailFailed, .deletion, .purgeFailed, .usesLost, .auditLost,
            .breachedListFailed, .filesForgotten, .fileMissing, .thumbnailFailed, .fileStorageFailed, .fileUpkeepFailed,
            .functionsFailed:
            break
        }
    }

    private func log(_ observation: Observation) {
        switch observation {
        case .completed(let action, let code):
            // A caller's errors are reported to the caller; the service's errors go to the log.
            guard let code, code.isServerFault else { return }
            logger.error("An action failed", metadata: ["action": "\(action.rawValue)", "error": "\(code.name)"])
        case .refused(let code):
            logger.debug("Credentials were refused", metadata: ["error": "\(code.name)"])
        case .passwordQueueFull:
            logger.warning("Too many passwords are waiting to be hashed")
        case .tokenReused:
            logger.warning("A session was ended: its previous token was used after it had been replaced")
        case .listening(let again):
            if again { logger.notice("Listening for ended sessions again") }
        case .purged(let sessions, let keys):
            guard sessions + keys > 0 else { return }
            logger.info("Removed expired rows", metadata: ["sessions": "\(sessions)", "idempotency_keys": "\(keys)"])
        case .mail(.dead, let count):
            logger.error("Mails could not be delivered and are not tried again", metadata: ["count": "\(count)"])
        case .mailFailed(let reason):
            logger.warning("Mail could not be sent", metadata: ["error": "\(reason)"])
        case .providerKeysFetched(let provider, let failure?):
            logger.warning(
                "The keys of a provider could not be fetched",
                metadata: ["provider": "\(provider)", "error": "\(failure)"]
            )
        case .tokenRefused(let provider, let fault):
            logger.info("A token was rejected", metadata: ["provider": "\(provider)", "reason": "\(fault.rawValue)"])
        case .signInFailed(let provider, let reason):
            logger.info(
                "A sign-in with a provider failed",
                metadata: ["provider": "\(provider)", "reason": "\(reason)"]
            )
        case .deletion(let records, let isFinished):
            logger.info(
                "Continued the deletion of an account",
                metadata: ["records": "\(records)", "finished": "\(isFinished)"]
            )
        case .deletionFailed(let reason):
            logger.warning("The deletion of an account could not be continued", metadata: ["error": "\(reason)"])
        case .purgeFailed(let reason):
            logger.warning("Expired rows could not be removed", metadata: ["error": "\(reason)"])
        case .breachedListFailed(let reason):
            logger.error("The list of breached passwords cannot be read", metadata: ["error": "\(reason)"])
        case .auditLost(let count, let reason):
            logger.warning(
                "Refusals could not be stored in the audit log",
                metadata: ["events": "\(count)", "error": "\(reason)"]
            )
        case .usesLost(let reason):
            logger.warning("The last use of sessions or keys could not be recorded", metadata: ["error": "\(reason)"])
        case .changesFollowed(let source):
            logger.info("Following changes", metadata: ["source": "\(source.rawValue)"])
        case .changesInterrupted(let reason, let message):
            logger.warning("\(message)", metadata: ["reason": "\(reason)"])
        case .filesCollected(let count):
            guard count > 0 else { return }
            logger.info("Removed files to which nothing refers", metadata: ["files": "\(count)"])
        case .fileMissing(let id):
            logger.warning("A file is missing in the storage", metadata: ["file": "\(id)"])
        case .thumbnailFailed(let id, let reason):
            logger.warning("A thumbnail could not be made", metadata: ["file": "\(id)", "error": "\(reason)"])
        case .fileStorageFailed(let reason):
            logger.error("The storage for files failed", metadata: ["error": "\(reason)"])
        case .fileUpkeepFailed(let reason):
            logger.warning("Files could not be removed", metadata: ["error": "\(reason)"])
        case .functionsFailed(let reason):
            logger.warning("Functions could not be read or told of an event", metadata: ["error": "\(reason)"])
        case .hookFailed(let trigger, let name, let code):
            logger.warning(
                "A hook failed",
                metadata: ["hook": "\(name)", "trigger": "\(trigger.rawValue)", "error": "\(code.name)"]
            )
        case .hooksSkipped(let count):
            logger.warning("A hook was skipped", metadata: ["records": "\(count)"])
        case .fileTransferred, .fileBytes, .filesForgotten, .thumbnailMade, .changesDispatched, .liveQueries,
            .liveReset, .feedFetched, .feedReset, .providerKeysFetched, .mail,
            .accountDeleted, .passwordHashed, .passwordTimed, .guessRefused, .accessDenied, .loggedIn, .audienceLoaded,
            .sessionLoaded,
            .sessionsForgotten:
            break
        }
    }
}

extension ErrorCode {
    /// Whether the failure is the service's fault, so that an operator should investigate it.
    package var isServerFault: Bool { rawValue >= 10_000 || self == .outcomeUnknown }
}
