import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What is made from the program must be what the program makes.
@Suite struct ManualTests {
    static let documentation = ImportTests.project + "/Documentation"

    @Test func theManualIsUpToDate() throws {
        let files = try Manual.files()
        for (path, text) in files {
            let kept = try? String(contentsOfFile: "\(Self.documentation)/\(path)", encoding: .utf8)
            #expect(kept == text, "Documentation/\(path) is stale: run make manual")
        }
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.documentation + "/man")
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
