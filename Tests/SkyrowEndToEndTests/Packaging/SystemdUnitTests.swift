import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// `packaging/systemd`: what the unit promises about the program.
@Suite struct SystemdUnitTests {
    /// The values of a key, in the order of the file.
    static func values(of key: String, in file: String = "skyrow.service") throws -> [String] {
        let path = "\(ImportTests.project)/packaging/systemd/\(file)"
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            line.hasPrefix(key + "=") ? String(line.dropFirst(key.count + 1)) : nil
        }
    }

    @Test func theCommandLineIsOneThatServes() async throws {
        let words = try #require(try Self.values(of: "ExecStart").first).split(separator: " ").map(String.init)
        #expect(words.prefix(2) == ["/usr/local/bin/skyrow", "serve"])
        let folder = try TemporaryDirectory()
        try "{}".write(toFile: folder.path + "/skyrow.json", atomically: false, encoding: .utf8)
        let flags = words.dropFirst(2).map { $0.replacing("/etc/skyrow/", with: folder.path + "/") }
        // `config` reads what `serve` reads, and says what is wrong with it.
        let shown = try await Tool.run(words: [Tool.path, "config"] + flags)
        #expect(shown.status == .exited(0), "\(shown.errors)")
        let directory = try #require(try Self.values(of: "StateDirectory").first)
        #expect(words.last == "/var/lib/\(directory)")
    }

    @Test func credentialsAreSettings() throws {
        let variables = try Self.values(of: "Environment", in: "credentials.conf").map { $0.split(separator: "=") }
        let loaded = try Self.values(of: "LoadCredential", in: "credentials.conf").map { $0.prefix { $0 != ":" } }
        #expect(!variables.isEmpty)
        for variable in variables {
            #expect(SettingsTable.rows.contains { $0.variable == variable[0] }, "\(variable[0])")
            #expect(loaded.contains(try #require(variable[1].split(separator: "/").last)))
        }
    }

    @Test func whatDoesNotRecoverIsNotTriedAgain() throws {
        let statuses = [ToolError.usage(""), .configuration("")].map { "\($0.status.rawValue)" }
        #expect(try Self.values(of: "RestartPreventExitStatus") == [statuses.joined(separator: " ")])
        #expect(try Self.values(of: "ExecReload") == ["/bin/kill -HUP $MAINPID"])
    }

    @Test func itIsKilledNoSoonerThanItEndsByItself() throws {
        let grace = try #require(try Self.values(of: "TimeoutStopSec").first.flatMap { DurationText.duration($0) })
        // After the requests the embedded PostgreSQL has twenty seconds.
        let settings = try Settings.default
        #expect(grace > settings.times.shutdown + .seconds(20))
        #expect(try Self.values(of: "KillMode") == ["mixed"])
        let descriptors = try #require(try Self.values(of: "LimitNOFILE").first.flatMap { Int($0) })
        #expect(descriptors > settings.listening.maximumConnections)
    }
}
