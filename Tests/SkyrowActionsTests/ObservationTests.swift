import Logging
import Metrics
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import Synchronization
import Testing

@testable import SkyrowActions

@Suite struct ObservationTests {
    @Test func countersHaveBoundedLabels() {
        let metrics = CountedMetrics()
        let recorder = ObservationRecorder(logger: .quiet, factory: metrics)
        recorder.record(.answered(.recordFetch, nil))
        recorder.record(.answered(.recordFetch, nil))
        recorder.record(.answered(.recordSave, .permissionDenied))
        recorder.record(.answered(.recordSave, ErrorCode(rawValue: 4711)))
        recorder.record(.answered(.recordSave, ErrorCode(rawValue: 4712)))
        recorder.record(.refused(.accessKeyNotAccepted))
        recorder.record(.passwordHashed)
        recorder.record(.purged(sessions: 3, idempotencyKeys: 0))
        #expect(
            metrics.counts == [
                "skyrow_actions_total action=record:fetch outcome=OK": 2,
                "skyrow_actions_total action=record:save outcome=PermissionDenied": 1,
                "skyrow_actions_total action=record:save outcome=Other": 2,
                "skyrow_refusals_total outcome=AccessKeyNotAccepted": 1,
                "skyrow_password_hashes_total": 1,
                "skyrow_purged_sessions_total": 3,
                "skyrow_purged_idempotency_keys_total": 0,
            ]
        )
    }

    @Test func nothingThatIsLoggedIsASecret() async throws {
        try await withService { fixture in
            let lines = LogLines()
            var logger = Logger(label: "skyrow.tests") { _ in lines.handler }
            logger.logLevel = .trace
            let store = RecordStore(
                client: fixture.service.store.client,
                schema: "app",
                mode: .development,
                logger: logger
            )
            try await store.prepare()
            let recorder = ObservationRecorder(logger: logger, factory: CountedMetrics())
            let service = ActionService(
                store: store,
                configuration: ServiceConfiguration(
                    apiKey: Secret("the-api-key"),
                    masterKey: Secret("the-master-key"),
                    passwords: ServiceFixture.cheapHashing
                ),
                logger: logger,
                observe: { recorder.record($0) }
            )
            let (answer, caller) = try await service.signUp("ann", password: "correct horse")
            for credentials in [
                Credentials(key: "wrong-key"), .token("stale-token"), Credentials(key: "the-api-key", accessToken: "x"),
            ] {
                _ = try? await service.authenticate(credentials, for: .user)
            }
            _ = try? await service.logIn(LogInRequest(authData: ["username": "ann"], password: "wrong horse"))
            _ = try? await service.signUp("ann", password: "correct horse")
            _ = try? await service.changePassword(
                ChangePasswordRequest(oldPassword: "wrong horse", password: "new horse"),
                by: caller
            )
            _ = try? await service.save(
                SaveRequest(draft("note/1", ["body": .string("a diary")]), key: "k"),
                by: caller
            )
            await service.purge()
            try await service.logOut(.token(answer.accessToken))
            let log = lines.text
            #expect(!log.isEmpty)
            for secret in [
                "the-api-key", "the-master-key", "horse", "wrong-key", "stale-token", answer.accessToken, "a diary",
                "scrypt",
            ] {
                #expect(!log.contains(secret))
            }
            #expect(!"\(service.configuration)".contains("the-"))
        }
    }
}

/// Counts what a service counts, by name and labels.
private final class CountedMetrics: MetricsFactory, Sendable {
    private let values = Mutex<[String: Int64]>([:])

    var counts: [String: Int64] { values.withLock { $0 } }

    private final class Counted: CounterHandler {
        let name: String
        let metrics: CountedMetrics

        init(_ name: String, _ metrics: CountedMetrics) {
            self.name = name
            self.metrics = metrics
        }

        func increment(by amount: Int64) {
            metrics.values.withLock { $0[name, default: 0] += amount }
        }

        func reset() {}
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        Counted(([label] + dimensions.map { "\($0)=\($1)" }).joined(separator: " "), self)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// Everything that was logged, metadata included.
private final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    var handler: any LogHandler { Handler(lines: self) }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let text = "\(event.level) \(event.message) \(event.metadata ?? [:]) \(metadata)"
            lines.lines.withLock { $0.append(text) }
        }
    }
}
