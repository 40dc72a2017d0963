import Foundation
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// `packaging/debian` and what goes into the package; `make test-package` installs one.
@Suite struct DebianPackageTests {
    static func path(_ name: String) -> String { "\(ImportTests.project)/packaging/\(name)" }

    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path("debian/\(name)"), encoding: .utf8)
    }

    /// The fields of the control file's paragraph about the package.
    static func fields() throws -> [String: String] {
        let paragraph = try #require(try text("control").components(separatedBy: "\n\n").last)
        let lines = paragraph.split(separator: "\n").filter { !$0.hasPrefix(" ") }
        return Dictionary(
            uniqueKeysWithValues: try lines.map { line in
                let colon = try #require(line.firstIndex(of: ":"))
                return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
            }
        )
    }

    @Test func itDependsOnAServerAndOnWhatTheProgramIsLinkedWith() throws {
        let fields = try Self.fields()
        #expect(fields["Package"] == "skyrow")
        #expect(fields["Architecture"] == "any")
        let dependencies = fields["Depends"]?.components(separatedBy: ", ")
        #expect(dependencies == ["${misc:Depends}", "${postgresql:Depends}", "${shlibs:Depends}"])
        #expect(fields["Recommends"]?.contains("postgresql-postgis") == true)
    }

    @Test(arguments: ["postinst", "postrm"]) func aMaintainerScriptIsOne(name: String) async throws {
        let script = Self.path("debian/skyrow.\(name)")
        #expect(try await Tool.run(words: ["/bin/sh", "-n", script]).status == .exited(0))
        let lines = try Self.text("skyrow.\(name)").split(separator: "\n")
        #expect(lines.prefix(2) == ["#!/bin/sh", "set -e"])
        #expect(lines.last == "#DEBHELPER#")
    }

    /// Removing is the one thing that the administrator must have chosen.
    @Test func aPurgeKeepsTheDataByDefault() throws {
        let template = try Self.text("skyrow.templates").split(separator: "\n")
        #expect(template.prefix(3) == ["Template: skyrow/purge-data", "Type: boolean", "Default: false"])
        let script = try Self.text("skyrow.postrm")
        #expect(script.contains("db_get skyrow/purge-data"))
        let directory = try #require(try SystemdUnitTests.values(of: "StateDirectory").first)
        #expect(script.contains("\ndata=/var/lib/\(directory)\n"))
        #expect(try Self.text("skyrow.tmpfiles").contains("\nd /var/lib/\(directory) 0700 skyrow skyrow\n"))
    }

    @Test func itsVersionIsThatOfTheProgram() async throws {
        let said = try await Tool.run(words: ["\(ImportTests.project)/scripts/package", "--version"])
        #expect(said.output == SkyrowVersion.text)
        // What Debian takes for an upstream version.
        #expect(SkyrowVersion.text.wholeMatch(of: #/[0-9][A-Za-z0-9.+~]*/#) != nil)
    }

    @Test func itsConfigurationSaysWhatIsTheDefault() async throws {
        let file = Self.path("skyrow.json")
        let shown = try await Tool.run(words: [Tool.path, "config", "--config", file])
        #expect(shown.status == .exited(0), "\(shown.errors)")
        let content = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: file))) as? [String: Any]
        let listening = try Settings.default.listening
        #expect(content?.keys.sorted() == ["host", "port"])
        #expect(content?["host"] as? String == listening.host)
        #expect(content?["port"] as? Int == listening.port)
    }

    @Test func manualAndCompletionsAreInIt() async throws {
        let folder = try TemporaryDirectory()
        // A copy of the program would be large, and is not looked at.
        let program = folder.path + "/skyrow"
        try "#!/bin/sh\nexec '\(Tool.path)' \"$@\"\n".write(toFile: program, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let root = folder.path + "/root"
        let made = try await Tool.run(
            words: [
                "/usr/bin/make", "-C", ImportTests.project, "install-files", "SKYROW=\(program)", "PREFIX=/usr",
                "DESTDIR=\(root)",
            ]
        )
        #expect(made.status == .exited(0), "\(made.errors)")
        // skyrow.install takes what is in these.
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["usr"])
        #expect(try Self.text("skyrow.install").split(separator: "\n") == ["root/etc/* etc", "root/usr/* usr"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: root + "/usr/share/man/man1").sorted()
                == ManualPage.pages(of: CommandHelp.all()).map { "\($0.name).1" }.sorted()
        )
        let bash = root + "/usr/share/bash-completion/completions/skyrow"
        #expect(try await Tool.run(words: ["/bin/bash", "-n", bash]).status == .exited(0))
        for name in ["zsh/site-functions/_skyrow", "fish/vendor_completions.d/skyrow.fish"] {
            #expect(contentsOfFile("\(root)/usr/share/\(name)")?.contains("serve") == true, "\(name)")
        }
    }

    @Test func everythingThatIsLinkedInIsNamedWithItsLicence() async throws {
        let named = try await Tool.run(words: [Self.path("components"), "copyright", Tool.path])
        #expect(named.status == .exited(0), "\(named.errors)")
        let manifest = try String(contentsOfFile: "\(ImportTests.project)/Package.swift", encoding: .utf8)
        let dependencies = manifest.matches(of: #/\.package\(url: "[^"]*/([^"/]+)"/#).map { String($0.1) }
        #expect(dependencies.contains("swift-nio"))
        for name in dependencies + ["swift-runtime"] {
            #expect(named.output.contains("\nFiles: linked/\(name)/*\nCopyright: "), "\(name)")
        }
        // What packages contain of others is in no manifest.
        for name in ["BoringSSL", "llhttp"] {
            #expect(named.output.contains("/\(name)/*\nCopyright: "), "\(name)")
        }
    }
}
