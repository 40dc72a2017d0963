import Foundation
import SkyrowActions
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// What no process removes or sends.
@Suite(.timeLimit(.minutes(60))) struct DoctorSweepingTests {
    @Test func whatIsNotSweptIsReported() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql(
                """
                INSERT INTO _session (token_hash, user_id, epoch) VALUES ('open', 'ann', 0), ('ended', 'ann', -1);
                INSERT INTO _throttle VALUES ('new', 1, now(), now());
                INSERT INTO _asset (name, filename, content_type, size, state, expires_at) VALUES
                    ('\(FileFixture.name(1))', 'a', 'text/plain', 1, 'expected', now() - interval '23 hours');
                INSERT INTO _garbage (name, storage) VALUES ('\(FileFixture.name(2))', 'local');
                """
            )
            #expect(try await examine(fixture.database.url, [.sweeping])["sweeping"] == [])
            try await fixture.psql(
                """
                UPDATE _session SET last_used_at = now() - interval '2 days';
                INSERT INTO _throttle VALUES ('old', 1, now() - interval '2 days', now() - interval '2 days');
                INSERT INTO _known_client VALUES ('old', 'ann', now() - interval '32 days');
                INSERT INTO _flow (hash, kind, purpose, provider, challenge, redirect, expires_at)
                VALUES (sha256('1'), 'state', 'login', 'p', repeat('c', 43), 'x', now() - interval '2 days');
                INSERT INTO _pending_login VALUES ('old', 'ann', 0, 0, NULL, NULL, now(), now() - interval '2 days');
                INSERT INTO _code (
                    kind, address_key, id, epoch, target, language, link_hash, digits_hash, link_expires_at, digits_expire_at
                ) VALUES ('reset', '1', '1', 0, '', '', '1', '1', now() - interval '3 days', now() - interval '3 days');
                INSERT INTO _used_token VALUES
                    (sha256('1'), now() - interval '2 days'), (sha256('2'), now() - interval '2 hours');
                INSERT INTO _mail (kind, language, state, created_at) VALUES
                    ('reset', '', 'sent', now() - interval '2 days'), ('reset', '', 'waiting', now() - interval '3 days'),
                    ('reset', '', 'dead', now() - interval '3 days'), ('reset', '', 'sent', now());
                UPDATE _asset SET expires_at = now() - interval '25 hours';
                INSERT INTO _asset (name, filename, content_type, size, state, stored_at) VALUES
                    ('\(FileFixture.name(3))', 'a', 'text/plain', 1, 'stored', now() - interval '49 hours');
                INSERT INTO _upload (id, name, incoming, metadata)
                SELECT gen_random_uuid(), name, gen_random_uuid(), '' FROM _asset WHERE state = 'stored';
                UPDATE _garbage SET deleted_at = now() - interval '25 hours';
                """
            )
            let findings = try await examine(fixture.database.url, [.sweeping])["sweeping"] ?? []
            #expect(
                findings.map(\.what) == [
                    "1 expired sessions have not been removed for a day.",
                    "1 expired counts of wrong passwords have not been removed for a day.",
                    "1 expired places of logins have not been removed for a day.",
                    "1 expired one-time codes have not been removed for a day.",
                    "1 expired used tokens of providers have not been removed for a day.",
                    "1 expired unfinished logins have not been removed for a day.",
                    "1 expired sign-ins with providers have not been removed for a day.",
                    "2 expired mails have not been removed for a day.",
                    "1 expired announcements of files have not been removed for a day.",
                    "1 expired complete uploads of files have not been removed for a day.",
                    "1 expired files without a row have not been removed for a day.",
                ]
            )
        }
    }

    @Test func keysThatAreMissingAreReported() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql(
                """
                INSERT INTO _factor (user_id, kind, secret_sealed, confirmed_at)
                VALUES ('ann', 'totp', '\\x01026b31ffff', now());
                INSERT INTO _identity (provider, subject, user_id, token_sealed) VALUES
                    ('p', 'ann', 'ann', '\\x01026b32ffff'), ('p', 'bob', 'bob', NULL);
                """
            )
            func found(_ keys: [String]?) async throws -> [String] {
                let findings = try await examine(fixture.database.url, [.sealing]) { $0.sealingKeys = keys }
                return (findings["sealing"] ?? []).map { "\($0.severity) \($0.what.prefix(40))" }
            }
            #expect(try await found(["k1", "k2"]) == ["warning 1 tokens of providers (_identity.token_s"])
            #expect(
                try await found([]) == [
                    "error 1 tokens of providers (_identity.token_s", "error 1 secrets of second factors (_factor.sec",
                ]
            )
            #expect(try await found(nil) == [])
        }
    }

    @Test func mailThatIsNotSentIsReported() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql(
                """
                INSERT INTO _mail (kind, language, state, created_at) VALUES
                    ('reset', '', 'waiting', now() - interval '50 minutes'), ('reset', '', 'sent', now()),
                    ('reset', '', 'dropped', now()), ('reset', '', 'dead', now() - interval '25 hours');
                """
            )
            #expect(try await examine(fixture.database.url, [.mail])["mail"] == [])
            try await fixture.psql(
                """
                INSERT INTO _mail (kind, language, state, created_at, failure) VALUES
                    ('reset', '', 'waiting', now() - interval '2 hours', NULL),
                    ('reset', '', 'dead', now(), 'The first.'), ('reset', '', 'dead', now(), 'The second.'),
                    ('reset', '', 'dead', now(), NULL);
                """
            )
            let findings = try await examine(fixture.database.url, [.mail])["mail"] ?? []
            #expect(
                findings.map(\.what) == [
                    "3 mails of the last day could not be delivered. The last failure: The second.",
                    "1 mails have waited for more than an hour.",
                ]
            )
        }
    }
}

/// Hashes of passwords, and roles that make administrators.
@Suite(.timeLimit(.minutes(60))) struct DoctorPasswordTests {
    @Test func hashesOfALowerCostAndEmptyRolesAreReported() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql("UPDATE _user SET password_hash = '$scrypt$ln=15,r=8,p=3$c2FsdA$aGFzaA'")
            #expect(try await examine(fixture.database.url, [.passwords])["passwords"] == [])
            try await fixture.psql(
                "UPDATE _user SET password_hash = '$2b$10$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW' WHERE id = 'ann'"
            )
            #expect(try await examine(fixture.database.url, [.passwords])["passwords"] == [])
            try await fixture.psql(
                """
                UPDATE _user SET password_hash = '$scrypt$ln=14,r=8,p=3,n=1$c2FsdA$aGFzaA' WHERE id = 'ann';
                UPDATE _user SET password_hash = '$2b$10$abcdefghijklmnopqrstuv' WHERE id = 'bob';
                INSERT INTO _role (name, is_admin) VALUES ('boss', true), ('chief', true);
                INSERT INTO _role (name) VALUES ('deputy');
                INSERT INTO _role_role (role, member) VALUES ('chief', 'deputy');
                INSERT INTO _user_role VALUES ('ann', 'deputy')
                """
            )
            let findings = try await examine(fixture.database.url, [.passwords])["passwords"] ?? []
            #expect(
                findings.map(\.what) == [
                    "The passwords of 1 accounts have a format that this version of skyrow does not support, such as that of "
                        + "'bob'.",
                    "The passwords of 1 accounts are hashed with ln=14,r=8,p=3, which is weaker than the current cost.",
                    "The role boss grants administrator rights, and no user has it.",
                ]
            )
        }
    }

    @Test func anOpenMasterKeyAndAFaultyFileAreReported() {
        let rows: [DoctorRow] = [
            ["network": "127.0.0.0/8"], ["network": "0.0.0.0/0", "open": "true"],
            ["setting": "password-breached", "fault": "it is empty."],
        ]
        let findings = DoctorCheck.accountSettings.judge(rows, DoctorLimits())
        #expect(
            findings.map(\.what) == [
                "The master key is accepted from all addresses (0.0.0.0/0).",
                "The setting password-breached is not usable: it is empty.",
            ]
        )
    }
}

/// Files that are missing in the directory.
@Suite(.timeLimit(.minutes(60))) struct DoctorFileTests {
    @Test func missingFilesAreReported() async throws {
        try await withFiles { files in
            func found(_ storage: (any FileStorage)?) async throws -> [String] {
                let examined = DoctorFiles(directory: "/files/app", storage: storage)
                return try await examine(files.url, [.files], files: examined)["files"]?.map(\.what) ?? []
            }
            #expect(try await found(files.storage) == [])
            try FileManager.default.removeItem(atPath: files.path(FileFixture.name(2)))
            #expect(
                try await found(files.storage) == [
                    "1 of 3 stored files are missing in /files/app, such as \(FileFixture.name(2))."
                ]
            )
            // The directory of another machine that is not mounted.
            let all = try await found(nil)
            #expect(all.count == 1 && all.first?.hasPrefix("3 of 3 stored files are missing") == true)
            try FileManager.default.removeItem(atPath: files.directory)
            let unusable = try await found(files.storage)
            #expect(unusable.count == 1 && unusable.first?.hasPrefix("The files cannot be used") == true)
            try await files.psql("DELETE FROM _asset")
            #expect(try await found(nil) == [])
            let without = try await examine(files.url, [.files])
            #expect(without["files"] == [])
        }
    }

    /// A large table is sampled from a random place on, and a sample that begins near its end goes on at its beginning.
    @Test func aSampleHasAsManyRowsAsItCan() async throws {
        try await withFiles { files in
            for count in [1, 2, 3, 10] {
                let rows = try FileRow.all(in: await files.store.client.read(FileRow.sample(count, in: "app")))
                #expect(Set(rows.map(\.name)).count == min(count, 3))
            }
        }
    }
}
