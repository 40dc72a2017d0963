import Foundation
import SkyrowStore
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct SealingKeyTests {
    private static let first = Data(repeating: 1, count: 32).base64EncodedString()
    private static let second = Data(repeating: 2, count: 32).base64EncodedString()

    /// The names of the keys of a file with this text.
    private func names(_ text: String) throws -> [String] {
        let path = FileManager.default.temporaryDirectory.appending(path: "sealing-\(UUID().uuidString)")
        try Data(text.utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        return try SettingsTests.settings(["secrets-key": path.path()]).keys.sealingKeys().map(\.name)
    }

    @Test func eachLineIsAKey() throws {
        #expect(try SettingsTests.settings().keys.sealingKeys() == [])
        #expect(try names("# two\n\nk2:\(Self.second)\r\n  k1:\(Self.first)  \n") == ["k2", "k1"])
    }

    @Test(arguments: [
        "", "k1", "k1:", "k1:AAAA", "K1:\(first)", "_1:\(first)", "k1:\(first)\nk1:\(second)", "k1:\(first)x",
        ":\(first)",
    ])
    func aFileThatIsNoneStopsTheStart(_ text: String) {
        let error = #expect(throws: ToolError.self) { try names(text) }
        #expect(error?.status == .configuration)
        // No key is in the complaint.
        #expect(error?.description.contains(Self.first) == false)
    }

    @Test func aFileThatIsNotThereStopsTheStart() {
        let error = #expect(throws: ToolError.self) {
            try SettingsTests.settings(["secrets-key": "/none/there"]).keys.sealingKeys()
        }
        #expect(error?.description.contains("/none/there") == true)
    }
}
