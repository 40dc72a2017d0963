import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem

/// The programs of Tests/Clients/functions that need no package from PyPI; scripts/test-clients runs the others.
@Suite struct FunctionProgramTests {
    @Test(arguments: ["Node by hand", "Node and SQL", "examples", "reload", "faults", "Functions.md"])
    func theProgramSucceeds(_ name: String) async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let program = root.appending(path: "Tests/Clients/functions/run").path
        let result = try await Tool.run(
            words: ["/usr/bin/python3", program, "--binary", Tool.path, "--only", name, "--without", "py-skygear"]
        )
        #expect(result.status == .exited(0), "\(result.output) \(result.errors)")
        #expect(result.output.hasPrefix("ok     \(name) "), "\(result.output)")
    }
}
