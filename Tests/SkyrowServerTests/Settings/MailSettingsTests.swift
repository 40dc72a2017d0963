import Foundation
import SkyrowActions
import SkyrowRemote
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct MailSettingsTests {
    private static let complete = [
        "mail": "smtps://sender@mail.example", "mail-from": "Example <no-reply@example.org>",
        "public-url": "https://api.example.org/",
    ]

    private func load(_ flags: [String: String], password: String? = "secret") throws -> Settings {
        try SettingsLoader(
            flags: flags,
            environment: password.map { ["SKYROW_MAIL_PASSWORD": $0] } ?? [:]
        ).load()
    }

    @Test func withoutSettingsNoMailIsSent() throws {
        let settings = try load([:], password: nil)
        #expect(settings.mail.destination == .off)
        #expect(try settings.mail.configuration(of: "app") == nil)
    }

    @Test func aServerIsSpokenToAsItsAddressSays() throws {
        let settings = try load(Self.complete)
        guard case .server(let server) = settings.mail.destination else {
            Issue.record("There is no server.")
            return
        }
        #expect(server.host == "mail.example" && server.port == 465 && server.security == .implicit)
        let mail = try #require(try settings.mail.configuration(of: "app"))
        #expect(mail.publicURL == "https://api.example.org")
        #expect(mail.title == "Example")
        #expect(mail.transport is SMTPTransport)
        // The password is not shown, also not by what prints the settings.
        #expect(!"\(settings.mail.destination)".contains("secret"))
    }

    @Test(arguments: [
        (["mail": "smtp://a:secret@mail.example"], "mail must be"),
        (["mail": "http://mail.example"], "mail must be"), (["mail": "file:"], "mail must be"),
        (["public-url": "api.example.org"], "public-url must be"),
        (["public-url": "https://user@api.example.org"], "public-url must be"),
        (["public-url": "https://api.example.org/?a=b"], "public-url must be"),
        (["public-url": "https:///path"], "public-url must be"),
        (["mail-from": "Example"], "mail-from must be"), (["mail-from": "A\r\nB: c <a@b.org>"], "mail-from must be"),
        (["mail-tls": "maybe"], "mail-tls must be"), (["verification": "yes"], "verification must be"),
        (["mail": "off", "verification": "required"], "verification requires mail"),
        (["mail": "smtp://sender@mail.example", "mail-tls": "off"], "passwords are sent only over TLS"),
        (["mail": "smtp://mail.example"], "must be set together"),
        (["mail": "off", "magic-link": "on"], "magic-link requires mail"),
        (["magic-link": "yes"], "magic-link must be"),
        (["magic-link-url": "app.example.org/in"], "magic-link-url must be"),
        (["magic-link-url": "javascript:alert(1)"], "magic-link-url must be"),
        (["magic-link-url": "https://app.example.org/in#here"], "magic-link-url must be"),
        (["magic-link-url": "https://app.example.org/a b"], "magic-link-url must be"),
    ])
    func whatCannotWorkStopsTheStart(_ changes: [String: String], _ complaint: String) {
        let error = #expect(throws: ToolError.self) { try load(Self.complete.merging(changes) { $1 }) }
        #expect(error?.description.contains(complaint) == true, "\(error?.description ?? "")")
        #expect(error?.status == .usage || error?.status == .configuration)
    }

    @Test(arguments: ["mail-from", "public-url"])
    func mailNeedsWhoItIsFromAndWhereLinksLead(_ missing: String) {
        var flags = Self.complete
        flags[missing] = nil
        let error = #expect(throws: ToolError.self) { try load(flags) }
        #expect(error?.description.contains("mail requires \(missing)") == true)
    }

    @Test(arguments: ["https://app.example.org/in?from=mail", "org.example.app:/in", "http://localhost:8000/"])
    func aPageOfTheApplicationTakesCodes(_ url: String) throws {
        let settings = try load(Self.complete.merging(["magic-link": "on", "magic-link-url": url]) { $1 })
        #expect(settings.mail.linkLogIn)
        #expect(try settings.mail.configuration(of: "app")?.logInURL == url)
    }

    @Test func aUserHasAPassword() {
        let error = #expect(throws: ToolError.self) { try load(Self.complete, password: nil) }
        #expect(error?.description.contains("must be set together") == true)
    }

    @Test func theDirectoryOfTemplatesIsReadAtTheStart() throws {
        let directory = "/tmp/skyrow-looks-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: "\(directory)/app/de", withIntermediateDirectories: true)
        func write(_ path: String, _ text: String) throws {
            try text.write(toFile: "\(directory)/app/\(path)", atomically: false, encoding: .utf8)
        }
        var flags = Self.complete
        flags["templates"] = directory
        flags["mail"] = "file:\(directory)/sent"
        let settings = try load(flags, password: nil)
        try write("style.css", "h1 {}")
        try write("logo.svg", "<svg/>")
        let mail = try #require(try settings.mail.configuration(of: "app"))
        #expect(mail.looks.style == Array("h1 {}".utf8))
        #expect(mail.looks.logo?.type == "image/svg+xml")
        #expect(try settings.mail.configuration(of: "other")?.looks.style == nil)
        try write("de/reset.txt.mustache", "Nothing of use")
        let error = #expect(throws: ToolError.self) { try settings.mail.configuration(of: "app") }
        #expect(error?.description.contains("templates: ") == true)
        try FileManager.default.removeItem(atPath: "\(directory)/app/de/reset.txt.mustache")
        try write("style.css", String(repeating: " ", count: 300_000))
        #expect(throws: ToolError.self) { try settings.mail.configuration(of: "app") }
    }
}
