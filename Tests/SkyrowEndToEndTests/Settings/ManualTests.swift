import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What the program says of itself: the table of settings in the repository, and the man pages that are installed.
@Suite struct ManualTests {
    static let documentation = ImportTests.project + "/Documentation"

    @Test func theTableOfSettingsIsUpToDate() throws {
        let kept = try? String(contentsOfFile: "\(Self.documentation)/Settings.md", encoding: .utf8)
        #expect(kept == SettingsManual.text, "Documentation/Settings.md is stale: run make manual")
    }

    @Test func theCommandWritesEveryFile() async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/manual"
        let page = folder.path + "/page.md"
        try "<!-- parameters and result of auth:logout -->\n<!-- end -->\n".write(
            toFile: page,
            atomically: false,
            encoding: .utf8
        )
        for _ in 1...2 {
            let made = try await Tool.run(words: [Tool.path, "manual", directory, page])
            #expect(made.status == .exited(0), "\(made.errors)")
            #expect(try String(contentsOfFile: page, encoding: .utf8).contains("\n\nNo parameters.\n\n"))
        }
        let files = try Manual.files()
        for (path, text) in files {
            #expect(try String(contentsOfFile: "\(directory)/\(path)", encoding: .utf8) == text, "\(path)")
        }
        let pages = try FileManager.default.contentsOfDirectory(atPath: directory + "/man")
        #expect(Set(pages) == Set(files.keys.filter { $0.hasPrefix("man/") }.map { String($0.dropFirst(4)) }))
    }

    @Test func everySettingStandsInTheTable() {
        for row in SettingsTable.rows {
            #expect(SettingsManual.text.contains("| `\(row.variable)` |"), "\(row.name)")
        }
    }

    @Test func everyCommandHasAPageThatGroffReadsWithoutComplaint() async throws {
        let pages = ManualPage.pages(of: try CommandHelp.all())
        #expect(Set(["skyrow", "skyrow-serve", "skyrow-config", "skyrow-import"]).isSubset(of: pages.map(\.name)))
        #expect(!pages.map(\.name).contains("skyrow-manual"))
        let folder = try TemporaryDirectory()
        for page in pages {
            let path = folder.path + "/page.1"
            try page.text.write(toFile: path, atomically: false, encoding: .utf8)
            let shown = try await Tool.run(words: ["groff", "-man", "-ww", "-Tascii", path])
            #expect(shown.status == .exited(0), "\(page.name)")
            #expect(shown.errors.isEmpty, "\(page.name): \(shown.errors)")
        }
    }

    @Test(arguments: [
        ("a-b", #"a\-b"#), (#"a\b"#, #"a\eb"#), (".SH", #"\&.SH"#), ("'x'", #"\(aqx\(aq"#), ("plain", "plain"),
    ])
    func textIsNeverTakenForARequest(text: String, escaped: String) {
        #expect(Roff.escaped(text) == escaped)
    }
}
