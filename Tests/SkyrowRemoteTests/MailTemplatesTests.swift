import Foundation
import Testing

@testable import SkyrowRemote

@Suite struct MailTemplatesTests {
    private let values = MailValues(
        application: "Tom & <b>Jerry</b>",
        address: "ann@example.org",
        link: "https://example.org/auth/reset?code=abc",
        digits: "012345",
        linkHours: 1,
        digitsMinutes: 15
    )

    private func withDirectory<Success>(
        _ files: [(key: String, value: String)],
        _ body: (String) throws -> Success
    ) throws -> Success {
        let directory = "/tmp/skyrow-templates-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: "\(directory)/app", withIntermediateDirectories: true)
        for (path, text) in files {
            let file = URL(fileURLWithPath: "\(directory)/app/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try text.write(to: file, atomically: false, encoding: .utf8)
        }
        return try body(directory)
    }

    @Test(arguments: MailKind.allCases)
    func theServicesOwnTextsSayWhatTheyAreFor(_ kind: MailKind) throws {
        let mail = try MailTemplates().render(kind, language: "", values)
        // Plain texts have nothing to escape.
        #expect(mail.subject.contains("Tom & <b>Jerry</b>"))
        #expect(!mail.subject.contains("\n") && !mail.text.hasPrefix("\n"))
        #expect(mail.text.contains(values.link) == kind.hasLink)
        #expect(mail.text.split(separator: "\n").contains("012345") == (kind.hasDigits && kind != .invite))
        #expect(mail.html == nil)
    }

    @Test func anOperatorsTextsComeFirstByLanguage() throws {
        try withDirectory([
            ("de/reset.subject.mustache", "Neues Passwort\n"), ("de/reset.txt.mustache", "Hier: {{link}}"),
            ("de/reset.html.mustache", "<p>{{application}} <a href=\"{{link}}\">{{digits}}</a></p>"),
            ("en/reset.subject.mustache", "Ours"), ("en/reset.txt.mustache", "{{digits}} {{application}}"),
            ("style.css", "body {}"),
        ]) { directory in
            let templates = try MailTemplates(directory: directory, application: "app")
            for language in ["de", "DE", "de-CH"] {
                let mail = try templates.render(.reset, language: language, values)
                #expect(mail.subject == "Neues Passwort")
                #expect(mail.text == "Hier: \(values.link)")
                // Values are escaped where there is something to escape.
                #expect(mail.html?.contains("Tom &amp; &lt;b&gt;Jerry&lt;/b&gt;") == true)
                #expect(mail.html?.contains("<b>") == false)
            }
            for language in ["", "fr", "../de"] {
                let mail = try templates.render(.reset, language: language, values)
                #expect(mail.subject == "Ours")
                #expect(mail.text == "012345 Tom & <b>Jerry</b>")
            }
            // What they have no text of is the service's.
            #expect(try templates.render(.verify, language: "de", values).subject.hasPrefix("Confirm"))
            let others = try MailTemplates(directory: directory, application: "other")
            #expect(try others.render(.reset, language: "de", values).subject.hasPrefix("A new password"))
        }
    }

    @Test(
        arguments: [
            (["en/reset.subject.mustache": "A"], "needs both"),
            (["en/reset.txt.mustache": "{{link}}"], "needs both"),
            (
                ["en/reset.subject.mustache": "A", "en/reset.txt.mustache": "Nothing"],
                "neither {{link}} nor {{digits}}"
            ),
            (
                ["en/reset.subject.mustache": "A", "en/reset.txt.mustache": "{{link}}", "en/reset.html.mustache": "x"],
                "neither {{link}} nor {{digits}}"
            ),
            (
                ["en/notice.subject.mustache": "A\nB", "en/notice.txt.mustache": "x"],
                "does not produce a subject of one line"
            ),
            (
                ["en/notice.subject.mustache": "", "en/notice.txt.mustache": "x"],
                "does not produce a subject of one line"
            ),
            (
                ["en/notice.subject.mustache": "A", "en/notice.txt.mustache": "x\n{{#link}}"],
                "notice.txt.mustache, line 2"
            ),
            (["en/notice.subject.mustache": "A", "en/notice.txt.mustache": "{{lnk}}"], "is not one of the names"),
            (
                ["en/notice.subject.mustache": "{{> head}}", "en/notice.txt.mustache": "x"],
                "notice.subject.mustache, line 1: {{> head}} is neither"
            ),
            (["en/rest.txt.mustache": "x"], "not named after a template"),
            (["en/reset.text.mustache": "x"], "not named after a template"),
            (["en_US/reset.txt.mustache": "x"], "not named after a language"),
        ] as [([String: String], String)]
    )
    func whatCannotWorkIsFoundAtTheStart(_ files: [String: String], _ complaint: String) throws {
        try withDirectory(files.sorted { $0.key < $1.key }) { directory in
            let fault = #expect(throws: MailTemplates.Fault.self) {
                _ = try MailTemplates(directory: directory, application: "app")
            }
            #expect(fault?.description.contains(complaint) == true, "\(fault?.description ?? "")")
        }
    }

    @Test func aDirectoryThatIsNotThereIsAFault() {
        #expect(throws: MailTemplates.Fault.self) {
            _ = try MailTemplates(directory: "/nowhere/at/all", application: "app")
        }
    }
}
