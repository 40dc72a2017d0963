import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

@Suite struct MailWorkerTests {
    private func state(_ mailing: MailingFixture) async throws -> String {
        try await mailing.fixture.psql(
            """
            SELECT state, attempts, link_code IS NULL, round(extract(epoch FROM next_at - now()) / 60)
            FROM _mail ORDER BY id
            """
        )
    }

    @Test func aMailThatIsPutOffIsTriedAgain() async throws {
        let failure = MailFailure(.transient, "The server is busy.")
        try await withMailingService(failures: [failure, failure]) { mailing in
            try await mailing.signUp("ann")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            #expect(await mailing.sent().isEmpty)
            #expect(try await state(mailing) == "waiting|1|f|1")
            // Not before its time.
            #expect(await mailing.sent().isEmpty)
            #expect(try await state(mailing) == "waiting|1|f|1")
            try await mailing.fixture.psql("UPDATE _mail SET next_at = now()")
            #expect(await mailing.sent().isEmpty)
            #expect(try await state(mailing) == "waiting|2|f|2")
            try await mailing.fixture.psql("UPDATE _mail SET next_at = now()")
            #expect(await mailing.sent().count == 1)
            #expect(try await mailing.fixture.psql("SELECT state, link_code IS NULL, failure FROM _mail") == "sent|t|")
            #expect(mailing.observations.count { $0 == .mail(.retried) } == 2)
            #expect(mailing.observations.count { $0 == .mail(.sent) } == 1)
            #expect(mailing.observations.count { $0 == .mailFailed("The server is busy.") } == 2)
        }
    }

    @Test(arguments: [
        (MailFailure(.permanent, "No such user."), ""),
        (
            MailFailure(.transient, "The server is busy."),
            // With its link, a new attempt in a minute included.
            "UPDATE _mail SET created_at = created_at - interval '59 minutes 30 seconds'"
        ),
    ])
    func aMailThatCannotBeSentIsGivenUp(_ failure: MailFailure, _ change: String) async throws {
        try await withMailingService(failures: [failure]) { mailing in
            try await mailing.signUp("ann")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            if !change.isEmpty { try await mailing.fixture.psql(change) }
            #expect(await mailing.sent().isEmpty)
            let row = try await mailing.fixture.psql(
                "SELECT state, link_code IS NULL, digits IS NULL, failure FROM _mail"
            )
            #expect(row == "dead|t|t|\(failure.description)")
            #expect(mailing.observations.count { $0 == .mail(.dead) } == 1)
        }
    }

    @Test func anAddressThatMailCannotReachIsGivenUp() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            // No client can set such an address.
            let address = "ann@example.org\r\nBcc: eve@example.org"
            try await mailing.fixture.psql("UPDATE \"user\" SET email = E'ann@example.org\\r\\nBcc: eve@example.org'")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: address))
            #expect(await mailing.sent().isEmpty)
            #expect(try await mailing.fixture.psql("SELECT state FROM _mail") == "dead")
        }
    }

    /// A process that dies with a mail loses it to another; one that comes back late changes nothing.
    @Test func aMailOfADeadProcessIsTakenOver() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let mails = mailing.service.store.mails
            let lost = try await mails.lease(4)
            #expect(lost.count == 1)
            #expect(await mailing.sent().isEmpty)
            try await mailing.fixture.psql("UPDATE _mail SET next_at = now()")
            #expect(await mailing.sent().count == 1)
            let late = try #require(lost.first)
            try await mails.settle(late, .failed("Late.", retryAfter: 60))
            #expect(try await mailing.fixture.psql("SELECT state, failure FROM _mail") == "sent|")
        }
    }

    @Test func workersDoNotTakeTheSameMail() async throws {
        try await withMailingService { mailing in
            try await mailing.fixture.psql(
                """
                INSERT INTO _mail (kind, target, language)
                SELECT 'notice', 'a' || n || '@example.org', '' FROM generate_series(1, 60) AS n
                """
            )
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { await mailing.service.sendMail() } }
            }
            let targets = mailing.transport.messages.map(\.to.description)
            #expect(targets.count == 60 && Set(targets).count == 60)
        }
    }

    @Test func theQueueIsBounded() async throws {
        try await withMailingService { mailing in
            try await mailing.fixture.psql(
                """
                INSERT INTO _mail (kind, target, language, digits)
                SELECT 'notice', 'a' || n || '@example.org', '', '012345' FROM generate_series(1, 10) AS n;
                INSERT INTO _mail (kind, language, state, created_at) VALUES
                    ('reset', '', 'sent', now() - interval '61 minutes'), ('reset', '', 'sent', now()),
                    ('reset', '', 'dropped', now() - interval '61 minutes'),
                    ('reset', '', 'dead', now() - interval '29 days'), ('reset', '', 'dead', now() - interval '31 days')
                """
            )
            let dead = try await mailing.service.store.mails.purge(maximumQueue: 7)
            #expect(dead == 3)
            let rows = try await mailing.fixture.psql(
                "SELECT state, count(*), count(digits) FROM _mail GROUP BY state ORDER BY state"
            )
            #expect(rows == "dead|4|0\nsent|1|0\nwaiting|7|7")
            // The oldest went.
            let first = try await mailing.fixture.psql("SELECT min(target COLLATE \"C\") FROM _mail WHERE id <= 3")
            #expect(first == "a1@example.org")
            let left = try await mailing.fixture.psql("SELECT min(id) FROM _mail WHERE state = 'waiting'")
            #expect(left == "4")
        }
    }

    /// As after the setting `mail` was taken back, or in a process that serves another application since.
    /// Also what is to be tried again; in between the database of an application without mail is left alone.
    @Test func mailOfAnotherProcessIsFoundWithinAMinute() async throws {
        try await withMailingService { mailing in
            let notice = "INSERT INTO _mail (kind, target, language) VALUES ('notice', 'a@example.org', '')"
            try await mailing.fixture.psql(notice)
            let rounds = Mutex(0)
            let clock = ServiceClock(
                now: mailing.clock.clock.now,
                instant: mailing.clock.clock.instant,
                sleep: { _ in
                    let round = rounds.withLock { rounds in
                        rounds += 1
                        return rounds
                    }
                    if round == 1 {
                        _ = try await mailing.transport.message(0)
                        try await mailing.fixture.psql(notice)
                    }
                    if round > 6 { throw CancellationError() }
                }
            )
            let service = ActionService(
                store: mailing.service.store,
                configuration: mailing.service.configuration,
                clock: clock,
                logger: .quiet,
                observe: { mailing.observations.record($0) }
            )
            let running = Task { await service.sendMailPeriodically() }
            defer { running.cancel() }
            _ = try await mailing.transport.message(1)
            #expect(mailing.transport.messages.count == 2)
        }
    }

    @Test func theMailsThatWaitAreCounted() async throws {
        try await withMailingService { mailing in
            for name in ["ann", "eve"] {
                _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "\(name)@example.org"))
            }
            await mailing.service.countMail()
            #expect(mailing.service.statistics.waitingMails == 2)
            _ = await mailing.sent()
            await mailing.service.countMail()
            #expect(mailing.service.statistics.waitingMails == 0)
        }
    }

    @Test func aMailThatNoProcessSendsIsGivenUpWithItsCode() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            #expect(try await mailing.service.store.mails.purge() == 0)
            try await mailing.fixture.psql("UPDATE _mail SET created_at = created_at - interval '26 hours'")
            #expect(try await mailing.service.store.mails.purge() == 1)
            let row = try await mailing.fixture.psql(
                "SELECT state, link_code IS NULL, digits IS NULL, failure FROM _mail"
            )
            #expect(row == "dead|t|t|No process has sent it.")
        }
    }

    @Test func aRunningServiceSendsByItself() async throws {
        try await withMailingService { mailing in
            try await mailing.signUp("ann")
            let running = Task { try? await mailing.service.run() }
            defer { running.cancel() }
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let mail = try await mailing.transport.message(0)
            #expect(mail.to.description == "ann@example.org")
        }
    }

    @Test func codesAreForgottenADayAfterTheirEnd() async throws {
        try await withMailingService { mailing in
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "a@example.org"))
            #expect(try await mailing.service.store.codes.purgeExpired() == 0)
            try await mailing.fixture.psql("UPDATE _code SET link_expires_at = now() - interval '25 hours'")
            #expect(try await mailing.service.store.codes.purgeExpired() == 1)
        }
    }
}
