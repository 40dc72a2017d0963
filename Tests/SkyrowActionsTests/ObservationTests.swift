import Logging
import MetricsTestKit
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

@Suite struct ObservationTests {
    @Test func countersHaveBoundedLabels() {
        let metrics = TestMetrics()
        let recorder = ObservationRecorder(logger: .quiet, factory: metrics)
        recorder.record(.completed(Actions.recordFetch.name, nil))
        recorder.record(.completed(Actions.recordFetch.name, nil))
        recorder.record(.completed(Actions.recordSave.name, .permissionDenied))
        recorder.record(.completed(Actions.recordSave.name, ErrorCode(rawValue: 4711)))
        recorder.record(.completed(Actions.recordSave.name, ErrorCode(rawValue: 4712)))
        recorder.record(.refused(.accessKeyNotAccepted))
        recorder.record(.accessDenied(.field))
        recorder.record(.loggedIn(.password, nil))
        recorder.record(.loggedIn(.customToken, .invalidCredentials))
        recorder.record(.loggedIn(.password, ErrorCode(rawValue: 4711)))
        recorder.record(.completed(Actions.authResetRequest.name, nil))
        recorder.record(.completed(Actions.authResetConfirm.name, .invalidToken))
        recorder.record(.completed(Actions.authResetConfirm.name, .passwordPolicyViolated))
        recorder.record(.completed(Actions.authLinkLogIn.name, .secondFactorRequired))
        recorder.record(.passwordHashed)
        recorder.record(.purged(sessions: 3, idempotencyKeys: 0))
        let counts = metrics.counters.filter { !$0.values.isEmpty }.map { counter in
            ([counter.label] + counter.dimensions.map { "\($0.0)=\($0.1)" }).joined(separator: " ")
                + ": \(counter.totalValue)"
        }
        #expect(
            counts.sorted() == [
                "skyrow_access_denied_total application=app layer=credentials: 1",
                "skyrow_access_denied_total application=app layer=field: 1",
                "skyrow_actions_total application=app action=auth:link:login outcome=SecondFactorRequired: 1",
                "skyrow_actions_total application=app action=auth:reset:confirm outcome=InvalidToken: 1",
                "skyrow_actions_total application=app action=auth:reset:confirm outcome=PasswordPolicyViolated: 1",
                "skyrow_actions_total application=app action=auth:reset:request outcome=OK: 1",
                "skyrow_actions_total application=app action=record:fetch outcome=OK: 2",
                "skyrow_actions_total application=app action=record:save outcome=Other: 2",
                "skyrow_actions_total application=app action=record:save outcome=PermissionDenied: 1",
                "skyrow_codes_total application=app kind=link outcome=accepted: 1",
                "skyrow_codes_total application=app kind=reset outcome=refused: 1",
                "skyrow_codes_total application=app kind=reset outcome=requested: 1",
                "skyrow_logins_total application=app method=custom_token outcome=InvalidCredentials: 1",
                "skyrow_logins_total application=app method=password outcome=OK: 1",
                "skyrow_logins_total application=app method=password outcome=Other: 1",
                "skyrow_password_hashes_total: 1",
                "skyrow_purged_idempotency_keys_total application=app: 0",
                "skyrow_purged_sessions_total application=app: 3",
                "skyrow_refusals_total application=app outcome=AccessKeyNotAccepted: 1",
            ]
        )
    }

    @Test func aTableHasOneObjectForEachPlace() async {
        let table = LazyTable(count: 3) { Place($0) }
        let found = await withTaskGroup(of: [Place].self) { group in
            for _ in 0..<8 { group.addTask { (0..<3).map { table[$0] } } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(found.allSatisfy { $0.map(\.number) == [0, 1, 2] })
        for place in 0..<3 { #expect(Set(found.map { ObjectIdentifier($0[place]) }).count == 1) }
    }

    @Test func codesKnowTheirPlaces() {
        #expect(ErrorCode.registered.map(\.ordinal) == Array(ErrorCode.registered.indices))
        #expect(ErrorCode.registered.count == ErrorCode.names.count)
        #expect(ErrorCode(rawValue: 4711).ordinal == nil)
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
            let recorder = ObservationRecorder(logger: logger, factory: TestMetrics())
            let service = ActionService(
                store: store,
                configuration: ServiceConfiguration(
                    keys: GivenKeys(api: Secret("the-api-key"), master: Secret("the-master-key")),
                    passwords: ServiceFixture.cheapHashing
                ),
                logger: logger,
                observe: { recorder.record($0) }
            )
            let (result, caller) = try await service.signUp("ann", password: "correct horse")
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
            try await service.run(Actions.authLogOut, with: .token(result.accessToken))
            let log = lines.text
            #expect(!log.isEmpty)
            for secret in [
                "the-api-key", "the-master-key", "horse", "wrong-key", "stale-token", result.accessToken, "a diary",
                "scrypt",
            ] {
                #expect(!log.contains(secret))
            }
            #expect(!"\(service.configuration)".contains("the-"))
        }
    }
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

private final class Place: Sendable {
    let number: Int

    init(_ number: Int) {
        self.number = number
    }
}
