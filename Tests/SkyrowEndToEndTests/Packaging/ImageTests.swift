import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// `docker/Dockerfile` and what goes into the image.
@Suite struct ImageTests {
    /// The Dockerfile's instructions, continued lines joined.
    static func instructions() throws -> [(name: String, rest: String)] {
        let text = try String(contentsOfFile: "\(ImportTests.project)/docker/Dockerfile", encoding: .utf8)
        return text.replacing("\\\n", with: " ").split(separator: "\n").compactMap { line in
            guard !line.hasPrefix("#"), let space = line.firstIndex(of: " ") else { return nil }
            return (String(line[..<space]), String(line[space...].drop { $0 == " " }))
        }
    }

    @Test func itsVariablesAreSettings() throws {
        let variables = try Self.instructions().filter { $0.name == "ENV" }.flatMap { $0.rest.split(separator: " ") }
        let environment = Dictionary(
            uniqueKeysWithValues: variables.map { variable in
                let parts = variable.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), String(parts[1]))
            }
        )
        let settings = try Settings(SettingSources(flags: [:], environment: environment))
        #expect(settings.listening.host == "0.0.0.0")
        #expect(settings.database.dataDirectory == "/var/lib/skyrow")
        // What compose and the health check count on.
        #expect(try Self.instructions().contains { $0.name == "EXPOSE" && $0.rest == "\(settings.listening.port)" })
    }

    @Test func itServesAsAnOrdinaryUser() throws {
        let last = Dictionary(try Self.instructions().map { ($0.name, $0.rest) }) { $1 }
        #expect(last["USER"] == "skyrow")
        #expect(last["ENTRYPOINT"] == #"["/usr/bin/skyrow"]"#)
        #expect(last["CMD"] == #"["serve"]"#)
        #expect(last["HEALTHCHECK"]?.contains(#"CMD ["/usr/local/libexec/skyrow/healthcheck"]"#) == true)
    }

    @Test func itIsBuiltAsTheMakefileBuilds() throws {
        let makefile = try String(contentsOfFile: "\(ImportTests.project)/Makefile", encoding: .utf8)
        let line = try #require(makefile.split(separator: "\n").first { $0.hasPrefix("BUILD = ") })
        let command = line.dropFirst("BUILD = ".count)
        #expect(try Self.instructions().contains { $0.name == "RUN" && $0.rest.hasPrefix(command + " ") })
    }

    /// Everything that is copied out of the build is in the package there.
    @Test func itsProgramIsThatOfThePackage() throws {
        let instructions = try Self.instructions()
        #expect(
            instructions.contains {
                $0.name == "RUN" && $0.rest.hasSuffix("&& dpkg-deb --extract .build/package/skyrow_*.deb /built")
            }
        )
        let copied = instructions.filter { $0.name == "COPY" && $0.rest.hasPrefix("--from=build ") }
        let paths = copied.map { $0.rest.split(separator: " ")[1] }
        #expect(paths == ["/built/usr/bin/skyrow", "/built/usr/share/doc/skyrow"])
    }

    /// An image is built without Package.resolved.
    @Test func thePackagesThatItIsBuiltFromArePinned() throws {
        let manifest = try String(contentsOfFile: "\(ImportTests.project)/Package.swift", encoding: .utf8)
        let packages = manifest.split(separator: "\n").filter { $0.contains(".package(url:") }
        #expect(packages.count > 5)
        for package in packages { #expect(package.contains(#/, exact: "\d+\.\d+\.\d+"\)/#), "\(package)") }
    }

    /// Dependencies and targets of the manifest, the scripts: all of it, and neither data nor keys.
    @Test func whatIsBuiltFromIsInTheContext() throws {
        let text = try String(contentsOfFile: "\(ImportTests.project)/.dockerignore", encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.first == "*")
        let paths = lines.dropFirst().map { $0.dropFirst() }
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("!") })
        let sources: Set<Substring> = ["Package.swift", "Sources", "Tests", "sql"]
        let package: Set<Substring> = ["CHANGELOG.md", "Makefile", "packaging", "scripts/package"]
        #expect(Set(paths) == sources.union(package).union(["docker/healthcheck", "docker/make-keys"]))
        for path in paths {
            #expect(FileManager.default.fileExists(atPath: "\(ImportTests.project)/\(path)"), "\(path)")
        }
    }

    @Test func theHealthCheckTellsAServiceThatIsReady() async throws {
        let check = "\(ImportTests.project)/docker/healthcheck"
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(in: folder.path + "/data")
        let port = try #require(service.address.port)
        let healthy = try await Tool.run(words: [check], environment: ["SKYROW_PORT": "\(port)"])
        #expect(healthy.status == .exited(0), "\(healthy.errors)")
        #expect(await service.terminate() == .exited(0))
        let gone = try await Tool.run(words: [check], environment: ["SKYROW_PORT": "\(port)"])
        #expect(gone.status == .exited(1))
    }
}
