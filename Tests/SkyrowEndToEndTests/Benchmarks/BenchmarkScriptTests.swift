import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem

/// The scripts of `Benchmarks` as far as they go without a measurement.
@Suite struct BenchmarkScriptTests {
    static let folder = JudgeTests.scripts

    static func scripts() throws -> [String] {
        let parts = try ["", "/works"].flatMap { below in
            try FileManager.default.contentsOfDirectory(atPath: folder + below)
                .filter { $0.hasSuffix(".sh") }.map { "\(folder)\(below)/\($0)" }
        }
        return parts + programs.map { "\(folder)/\($0)" }
    }

    static let programs = ["run", "compare", "instructions", "budget", "check", "extra", "policies"]

    @Test func bashReadsAllOfThem() async throws {
        for script in try Self.scripts() {
            let result = try await Tool.run(words: ["bash", "-n", script])
            #expect(result.status == .exited(0), "\(result.errors)")
        }
    }

    @Test(arguments: programs) func eachSaysHowItIsUsed(program: String) async throws {
        let help = try await Tool.run(words: ["\(Self.folder)/\(program)", "--help"])
        #expect(help.status == .exited(0), "\(help.errors)")
        #expect(help.output.hasPrefix("usage: Benchmarks/\(program) "))
        let wrong = try await Tool.run(words: ["\(Self.folder)/\(program)", "--wrong"])
        #expect(wrong.status == .exited(64))
        #expect(wrong.errors.hasPrefix("usage: "))
    }

    static let results = """
        # Results

        old head

        ## TLS

        old TLS

        ## Tracing

        old tracing
        """

    /// What `section.awk` makes of a file.
    static func putting(_ body: String, under heading: String, into text: String) async throws -> String {
        let folder = try TemporaryDirectory()
        let files = [folder.path + "/body", folder.path + "/target"]
        for (path, text) in zip(files, [body, text]) {
            try (text.isEmpty ? "" : text + "\n").write(toFile: path, atomically: false, encoding: .utf8)
        }
        let result = try await Tool.run(words: [
            "awk", "-v", "heading=\(heading)", "-v", "body=\(files[0])", "-f", "\(Self.folder)/section.awk", files[1],
        ])
        #expect(result.status == .exited(0), "\(result.errors)")
        return result.output
    }

    @Test(arguments: [
        ("", "old head", "# Results\n\nnew"),
        ("TLS", "old TLS", "new"),
        ("Tracing", "old tracing", "new"),
    ])
    func aSectionIsReplacedAndTheRestStays(heading: String, old: String, new: String) async throws {
        let expected = Self.results.replacing(heading.isEmpty ? "# Results\n\n\(old)" : old, with: new)
        #expect(try await Self.putting(new, under: heading, into: Self.results) == expected)
    }

    @Test func aNewSectionComesLast() async throws {
        let result = try await Self.putting("new", under: "Idle clients", into: Self.results)
        #expect(result == Self.results + "\n\n## Idle clients\n\nnew")
    }

    @Test func anEmptyFileGetsItsFirstSection() async throws {
        #expect(try await Self.putting("new", under: "TLS", into: "") == "## TLS\n\nnew")
        #expect(try await Self.putting("new", under: "", into: "") == "new")
    }
}
