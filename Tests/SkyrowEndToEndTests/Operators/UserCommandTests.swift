import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Accounts from a terminal, as their users notice them.
@Suite struct UserCommandTests {
    @Test func anAccountIsMadeDisabledAndEnabledBesideTheService() async throws {
        try await withService { service in
            func run(_ words: String..., input: String? = nil) async throws -> [String: Any] {
                let place = ["--data-directory", service.directory, "--json"]
                return try CommandOutputTests.object(
                    try await Tool.run(words: [Tool.path, "user"] + words + place, input: input)
                )
            }
            let ann = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let made = try await run("create", "ann", "--password-stdin", "--role", "admin", input: "correct horse\n")
            #expect(made["password"] == nil)
            #expect(made["roles"] as? [String] == ["Admin"])
            #expect(made["sessions"] as? Int == 0)
            let account = try await ann.logIn(["username": "Ann"], password: "correct horse")
            #expect(account.userID.rawValue == made["user_id"] as? String)

            // A password that was made for the account is one to log in with.
            let bob = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let other = try await run("create", "bob", "--email", "bob@example.org")
            let password = try #require(other["password"] as? String)
            _ = try await bob.logIn(["email": "bob@example.org"], password: password)

            let disabled = try await run("disable", "BOB", "--message", "Call us.", "--until", "2100-01-31T12:00:00Z")
            #expect(disabled["disabled"] as? Bool == true && disabled["sessions"] as? Int == 0)
            #expect(disabled["disabled_message"] as? String == "Call us.")
            #expect(disabled["disabled_until"] as? String == "2100-01-31T12:00:00Z")
            let refusal = await #expect(throws: ClientError.self) {
                try await bob.logIn(["username": "bob"], password: password)
            }
            #expect(refusal?.serverError?.code == .userDisabled)
            // The service learns within a second that his sessions are over; hers goes on.
            var ended: ErrorCode?
            try await waiting(until: "his session is over") {
                do throws(ClientError) {
                    _ = try await bob.me()
                } catch {
                    ended = error.serverError?.code
                }
                return ended != nil
            }
            #expect(ended == .userDisabled || ended == .accessTokenNotAccepted || ended == .notAuthenticated)
            #expect(try await ann.me().userID == account.userID)

            let listed = try await run("list", "--disabled")
            #expect(listed["count"] as? Int == 1)
            #expect(
                (listed["accounts"] as? [[String: Any]])?.map { $0["user_id"] as? String } == [
                    other["user_id"] as? String
                ]
            )
            #expect(try await run("list")["count"] as? Int == 2)
            let enabled = try await run("enable", "bob@example.org")
            #expect(enabled["disabled"] as? Bool == false && enabled["disabled_message"] == nil)
            _ = try await bob.logIn(["username": "bob"], password: password)
            #expect(try await run("show", "bob")["sessions"] as? Int == 1)
        }
    }

    /// The running service finds within a second that the account is gone, and keeps its name from others.
    @Test func anAccountIsDeletedBesideTheService() async throws {
        try await withService { service in
            func run(_ words: String...) async throws -> Tool.Result {
                try await Tool.run(words: [Tool.path, "user"] + words + ["--data-directory", service.directory])
            }
            let ann = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let account = try await ann.signUp(["username": "ann"], password: "correct horse")
            let unasked = try await run("delete", "Ann")
            #expect(unasked.status == .exited(64))
            #expect(unasked.errors.contains("confirmation needs a terminal. Add --yes"))
            #expect(try await ann.me().userID == account.userID)
            let deleted = try await run("delete", "Ann", "--yes", "--json")
            let report = try CommandOutputTests.object(deleted)
            #expect(report["id"] as? String == account.userID.rawValue)
            #expect((report["deletion"] as? [String: Any])?["finished"] as? Bool == true, "\(deleted.output)")
            try await waiting(until: "her session is over") {
                do throws(ClientError) {
                    _ = try await ann.me()
                    return false
                } catch {
                    return error.serverError != nil
                }
            }
            let again = try await run("delete", "ann", "--yes")
            #expect(again.status == .exited(1))
            #expect(again.errors == "skyrow: The account 'ann' does not exist.")
            // Within 30 days the name is given to another one by an operator alone who says so.
            let eve = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let taken = await #expect(throws: ClientError.self) {
                try await eve.signUp(["username": "ann"], password: "correct horse")
            }
            #expect(taken?.serverError?.code == .duplicated)
            #expect(try await run("create", "ann").status == .exited(1))
            #expect(try await run("create", "ann", "--force").status == .exited(0))
            let events = try await Tool.run(
                words: [
                    Tool.path, "audit", "--event", "delete", "--json", "--data-directory", service.directory,
                ]
            )
            #expect(events.output.contains("\"operator\"") && events.output.contains(account.userID.rawValue))
        }
    }

    /// The service sends the mail of an invitation that a command has written.
    @Test func anInvitedUserChoosesAPassword() async throws {
        let folder = try TemporaryDirectory()
        let mails = folder.path + "/mails"
        try FileManager.default.createDirectory(atPath: mails, withIntermediateDirectories: true)
        let arguments = [
            "--development", "--mail", "file:\(mails)", "--mail-from", "service@example.org",
            "--public-url", "https://api.example.org", "--self-signup", "off", "--password-strength", "2",
        ]
        try await withService(arguments: arguments) { service in
            let invitation = [
                Tool.path, "user", "invite", "ann@example.org", "--role", "admin", "--json",
                "--data-directory", service.directory,
            ]
            // The settings of the service are on its own command line.
            let refused = try await Tool.run(words: invitation)
            #expect(refused.status == .exited(1))
            #expect(refused.errors.contains("Mail is not configured: "))
            #expect(try await service.psql("SELECT count(*) FROM app_internal._user") == "0")
            let invited = try await Tool.run(
                words: invitation,
                environment: [
                    "SKYROW_MAIL": "file:\(mails)", "SKYROW_MAIL_FROM": "service@example.org",
                    "SKYROW_PUBLIC_URL": "https://api.example.org",
                ]
            )
            let user = try #require(try CommandOutputTests.object(invited)["user_id"] as? String)
            var mail = ""
            try await waiting(until: "the mail is sent") {
                let files = try FileManager.default.contentsOfDirectory(atPath: mails).filter { !$0.hasPrefix(".") }
                guard let file = files.first else { return false }
                mail = try String(contentsOfFile: mails + "/" + file, encoding: .utf8)
                return mail.contains("auth/reset?code")
            }
            #expect(mail.contains("ann@example.org"))
            // Quoted-printable breaks lines and writes the sign of equality as =3D.
            let text = mail.replacing("=\r\n", with: "").replacing("=\n", with: "").replacing("=3D", with: "=")
            let link = try #require(text.firstMatch(of: #/auth\/reset\?code=([A-Za-z0-9_-]{43})/#))
            let ann = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let weak = await #expect(throws: ClientError.self) {
                try await ann.resetPassword(to: "password1", code: String(link.1))
            }
            #expect(weak?.serverError?.code == .passwordPolicyViolated)
            let account = try await ann.resetPassword(to: "correct horse battery", code: String(link.1))
            #expect(account.userID.rawValue == user && account.roles == ["Admin"])
            let eve = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            _ = try await eve.logIn(["email": "ann@example.org"], password: "correct horse battery")
        }
    }

    /// Words behind `skyrow user`, what is on standard input, and what is said.
    private static let refusals: [(words: [String], input: String?, status: Int32, sentence: String)] = [
        (["create", "ANN"], nil, 1, "An account with the username 'ANN' already exists; choose another one."),
        (
            ["create", "eve", "--email", "Ann@Example.org"], nil, 1,
            "An account with the email 'Ann@Example.org' already exists; choose another one."
        ),
        (
            ["create", ""], nil, 1,
            "The value of a login key must be 1 to 255 bytes without NUL and have visible characters."
        ),
        (
            ["create", String(repeating: "a", count: 256)], nil, 1,
            "The value of a login key must be 1 to 255 bytes without NUL and have visible characters."
        ),
        (["create", "eve", "--role", "king"], nil, 1, "The role 'king' does not exist; existing roles: Admin."),
        (["create", "eve", "--password-stdin"], "", 64, "Standard input contains no password."),
        (["create", "eve", "--password-stdin"], "\nsecret\n", 64, "Standard input contains no password."),
        (
            ["create", "eve", "--password-stdin"], String(repeating: "a", count: 1025), 1,
            "A password must be 1 to 1024 bytes long."
        ),
        (["show", "eve"], nil, 1, "The account 'eve' does not exist."),
        (["disable", "eve"], nil, 1, "The account 'eve' does not exist."),
        (["enable", "eve"], nil, 1, "The account 'eve' does not exist."),
        (["factor", "remove", "eve"], nil, 1, "The account 'eve' does not exist."),
        (["factor", "remove", "ann"], nil, 1, "The account has no second factor."),
        (["disable", "ann", "--until", "2000-01-31T12:00:00Z"], nil, 64, "--until is in the past."),
        (
            ["disable", "ann", "--until", "soon"], nil, 64,
            "--until: An instant must have the form 2019-02-07T06:42:59.871181Z (RFC 3339)."
        ),
    ]

    @Test func whatCannotBeIsSaidInOneSentenceAndChangesNothing() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let place = ["--database-url", database.url]
            // The first account may come before the first start of a service.
            let made = try await Tool.run(
                words: [Tool.path, "user", "create", "ann", "--email", "ann@example.org"] + place
            )
            #expect(made.status == .exited(0), "\(made.errors)")
            #expect(made.output.contains("\npassword    "))
            #expect(made.output.hasSuffix("The password is shown only once."))
            let accounts = "SELECT id, disabled, password_hash FROM app_internal._user; SELECT * FROM app.user"
            let before = try await database.psql(accounts)
            for (words, input, status, sentence) in Self.refusals {
                let result = try await Tool.run(words: [Tool.path, "user"] + words + place, input: input)
                #expect(result.status == .exited(status), "\(words)")
                #expect(result.errors == "skyrow: \(sentence)", "\(words)")
                #expect(result.output.isEmpty)
            }
            #expect(try await database.psql(accounts) == before)
            // A password is no argument.
            let reported = try await Tool.run(
                words: [Tool.path, "user", "create", "eve", "--password", "hunter2"] + place
            )
            #expect(reported.status == .exited(64))
        }
    }

    @Test func aSecondFactorThatWasLostIsRemoved() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            func user(_ words: String...) async throws -> Tool.Result {
                try await Tool.run(words: [Tool.path, "user"] + words + ["--database-url", database.url])
            }
            let made = try await user("create", "ann")
            #expect(made.status == .exited(0), "\(made.errors)")
            try await database.psql(
                """
                INSERT INTO app_internal._factor (user_id, kind, secret_sealed, hash, confirmed_at)
                SELECT id, kind, CASE kind WHEN 'totp' THEN '\\x01'::bytea END, CASE kind WHEN 'recovery' THEN '\\x02'::bytea END, now()
                FROM app_internal._user CROSS JOIN (VALUES ('totp'), ('recovery')) AS one (kind)
                """
            )
            let asked = "SELECT second_factor, (SELECT count(*) FROM app_internal._factor) FROM app_internal._user"
            #expect(try await database.psql(asked) == "t|2")
            let removed = try await user("factor", "remove", "ann")
            #expect(removed.status == .exited(0), "\(removed.errors)")
            #expect(try await database.psql(asked) == "f|0")
            let events = "SELECT event, actor, outcome FROM app_internal._audit WHERE event = 'factor.remove'"
            #expect(try await database.psql(events) == "factor.remove|operator|ok")
        }
    }

    @Test func accountsHaveTheLoginKeysOfTheService() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            func user(_ words: String..., keys: String? = nil) async throws -> Tool.Result {
                try await Tool.run(
                    words: [Tool.path, "user"] + words + ["--database-url", database.url],
                    environment: keys.map { ["SKYROW_LOGIN_KEYS": $0] } ?? [:]
                )
            }
            for (key, name) in [("phone", "+49 30 1234"), ("email", "ann@example.org")] {
                let made = try await user("create", name, keys: key)
                #expect(made.status == .exited(0), "\(made.errors)")
                #expect(try await database.psql("SELECT \(key) FROM app.user WHERE \(key) <> ''") == name)
            }
            // The database knows a key from then on, and nobody has to name it again.
            let shown = try await user("show", "+49 30 1234")
            #expect(shown.status == .exited(0) && shown.output.contains("phone       +49 30 1234"), "\(shown.errors)")

            let twice = try await user("create", "eve@example.org", "--email", "eve@example.net", keys: "email")
            #expect(twice.status == .exited(64))
            let unknown = try await user("create", "eve", "--email", "a@b", keys: "username")
            #expect(unknown.status == .exited(64))
            #expect(unknown.errors == "skyrow: Accounts do not log in with a mail address here, but with: username.")
        }
    }
}
