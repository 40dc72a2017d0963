import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem

/// The pages of the links in mails in a browser: by keyboard alone, on a narrow screen, with and without scripts.
@Suite(.timeLimit(.minutes(60))) struct BrowserPageTests {
    private static let publicURL = "http://pages.example"

    private struct Site {
        let service: RunningService
        let mails: String

        /// The link to a page in the mail that has one, where the service really is.
        func link(to page: String) async throws -> URL {
            let start = BrowserPageTests.publicURL + page
            var found: String?
            try await waiting(until: "there is a mail with a link to \(page)") {
                let names = (try? FileManager.default.contentsOfDirectory(atPath: mails)) ?? []
                let texts = names.filter { $0.hasSuffix(".eml") }.compactMap { contentsOfFile("\(mails)/\($0)") }
                // Quoted-printable: long lines are broken after "=", and "=" is "=3D".
                let plain = texts.map {
                    $0.replacing("\r\n", with: "\n").replacing("=\n", with: "").replacing("=3D", with: "=")
                }
                found = plain.first { $0.contains(start) }
                return found != nil
            }
            let text = try #require(found)
            let place = try #require(text.firstRange(of: BrowserPageTests.publicURL))
            let path = text[place.upperBound...].prefix { !$0.isWhitespace && $0 != "\"" && $0 != "<" }
            return try #require(URL(string: service.address.absoluteString + path))
        }
    }

    private func withSite(templates: String? = nil, _ body: (Site) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let mails = folder.path + "/mails"
        try FileManager.default.createDirectory(atPath: mails, withIntermediateDirectories: true)
        let settings = [
            "--mail", "file:\(mails)", "--mail-from", "pages@example.org", "--public-url", Self.publicURL,
            "--verification", "optional",
        ]
        try await withService(
            arguments: ["--development"] + settings + (templates.map { ["--templates", $0] } ?? [])
        ) { service in
            try await body(Site(service: service, mails: mails))
        }
    }

    private func signUp(_ service: RunningService) async throws {
        _ = try await service.call(
            "auth:signup",
            #"{"auth_data":{"username":"ann","email":"ann@example.org"},"password":"a long secret"}"#
        )
    }

    /// Whether an account has a password, by logging in with it.
    private func logsIn(_ service: RunningService, _ password: String) async -> Bool {
        let parameters = #"{"auth_data":{"username":"ann"},"password":"\#(password)"}"#
        return (try? await service.call("auth:login", parameters)) != nil
    }

    /// Checks what the page asks for, and how it is shown and reached.
    private func check(_ browser: Browser, asksFor expected: [(role: String, label: String)], width: Double)
        async throws
    {
        let controls = try await browser.elements("input:not([type=hidden]), button")
        try #require(controls.count == expected.count)
        for (control, expected) in zip(controls, expected) {
            let (role, label) = (try await browser.role(of: control), try await browser.label(of: control))
            #expect(role == expected.role && label == expected.label)
            let frame = try await browser.frame(of: control)
            #expect(frame.x >= 0 && frame.x + frame.width <= width)
            // WCAG 2.2, 2.5.8: targets have 24 pixels at least.
            #expect(frame.height >= 24 && frame.width >= 24)
        }
        let whole = try #require(try await browser.elements("html").first)
        let page = try await browser.frame(of: whole)
        #expect(page.width <= width)
        // The focus goes from one to the next in the order of the page.
        for control in controls {
            try await browser.type(Browser.tab)
            let focused = try await browser.focused()
            #expect(focused == control)
        }
    }

    @Test(arguments: [true, false])
    func aPasswordIsSetByKeyboardOnANarrowScreen(runsScripts: Bool) async throws {
        try await withSite { site in
            try await signUp(site.service)
            // An address gets one mail a minute, and the first has gone out with the sign-up.
            _ = try await site.link(to: "/auth/verify")
            _ = try await site.service.psql(
                "UPDATE app_internal._mail SET created_at = created_at - interval '61 seconds'"
            )
            _ = try await site.service.call("auth:reset:request", #"{"email":"ann@example.org"}"#)
            let link = try await site.link(to: "/auth/reset")
            try await Browser.withBrowser(Browser.Options(runsScripts: runsScripts)) { browser in
                try await browser.open(link)
                #expect(try await browser.title().hasPrefix("Choose a new password"))
                try await check(
                    browser,
                    asksFor: [
                        ("textbox", "New password"), ("textbox", "Repeat the new password"),
                        ("button", "Set the password"),
                    ],
                    width: 320
                )
                // The page has its style, which its own policy lets through.
                let main = try #require(try await browser.elements("main").first)
                #expect(try await browser.style("max-width", of: main) == "416px")

                try await browser.open(link)
                try await browser.type("\(Browser.tab)another secret\(Browser.tab)another sekret\(Browser.enter)")
                let refusal = try await browser.text(of: "[role=alert]")
                #expect(refusal == "The two passwords differ. Try again.")
                #expect(try await browser.title().hasPrefix("Error: "))
                #expect(await logsIn(site.service, "a long secret"))

                try await browser.type("\(Browser.tab)another secret\(Browser.tab)another secret\(Browser.enter)")
                #expect(try await browser.text(of: "[role=status]").hasPrefix("The new password is set."))
                #expect(try await browser.elements("form").isEmpty)
                let violations = try await browser.policyViolations()
                #expect(violations == [])
            }
            #expect(await logsIn(site.service, "another secret"))
            #expect(await !logsIn(site.service, "a long secret"))
        }
    }

    @Test(arguments: [true, false])
    func aChangeOfTheAddressIsUndoneByAButtonAndNotByItsLink(runsScripts: Bool) async throws {
        try await withSite { site in
            try await signUp(site.service)
            _ = try await site.link(to: "/auth/verify")
            // As if the address had been proved and changed, with a link that a mail to the former one has.
            _ = try await site.service.psql(
                """
                UPDATE app_internal._user SET verified_email = 'ann@example.org';
                UPDATE "user" SET email = 'thief@example.org';
                INSERT INTO app_internal._code (kind, address_key, id, user_id, epoch, target, language, link_hash, digits_hash,
                    link_expires_at, digits_expire_at)
                SELECT 'undo', sha256('ann@example.org'), '\\x01', id, epoch + 1, 'ann@example.org', '', sha256('a-code'), '\\x02',
                    now() + interval '7 days', now() FROM app_internal._user
                """
            )
            let link = try #require(URL(string: site.service.address.absoluteString + "/auth/undo?code=a-code"))
            let address = #"SELECT email FROM "user""#
            try await Browser.withBrowser(Browser.Options(runsScripts: runsScripts)) { browser in
                try await browser.open(link)
                #expect(try await browser.title().hasPrefix("Recover your account"))
                try await check(browser, asksFor: [("button", "Undo the change")], width: 320)
                #expect(try await site.service.psql(address) == "thief@example.org")
                try await browser.type(Browser.enter)
                #expect(try await browser.text(of: "[role=status]").hasPrefix("The account has this address again."))
                #expect(try await browser.elements("form").isEmpty)
                #expect(try await site.service.psql(address) == "ann@example.org")
                let violations = try await browser.policyViolations()
                #expect(violations == [])
            }
            #expect(await !logsIn(site.service, "a long secret"))
        }
    }

    @Test(arguments: [true, false])
    func anAddressIsConfirmedByAButtonAndNotByItsLink(runsScripts: Bool) async throws {
        let looks = try TemporaryDirectory()
        let folder = looks.path + "/app"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "button { background-color: rgb(1, 2, 3); padding: 1rem; }".write(
            toFile: folder + "/style.css",
            atomically: true,
            encoding: .utf8
        )
        try await withSite(templates: looks.path) { site in
            try await signUp(site.service)
            let link = try await site.link(to: "/auth/verify")
            let verified = #"SELECT count(*) FROM app_internal._user WHERE verified_email IS NOT NULL"#
            try await Browser.withBrowser(Browser.Options(runsScripts: runsScripts)) { browser in
                try await browser.open(link)
                try await check(browser, asksFor: [("button", "Confirm")], width: 320)
                let button = try #require(try await browser.elements("button").first)
                #expect(try await browser.style("background-color", of: button) == "rgba(1, 2, 3, 1)")
                #expect(try await site.service.psql(verified) == "0")
                try await browser.type(Browser.enter)
                #expect(try await !browser.text(of: "[role=status]").isEmpty)
                #expect(try await site.service.psql(verified) == "1")
                let violations = try await browser.policyViolations()
                #expect(violations == [])
            }
        }
    }
}
