import Foundation
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct ServiceKeysTests {
    static func withDirectory(_ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "skyrow-keys-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path + "/keys")
    }

    @Test func keysAreMadeOnceAndKeptForTheirOwnerAlone() throws {
        try Self.withDirectory { file in
            let first = try ServiceKeys.resolve(apiKeys: [], masterKeys: [], file: file)
            #expect(first.areNew)
            #expect(first.apiKeys.map(\.count) == [64])
            #expect(first.masterKeys.map(\.count) == [64])
            #expect(first.apiKeys != first.masterKeys)
            let mode = try FileManager.default.attributesOfItem(atPath: file + ".new")[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: (file as NSString).deletingLastPathComponent) == [
                    "keys.new"
                ]
            )

            // Until the operator was told, they stay new.
            #expect(try ServiceKeys.resolve(apiKeys: [], masterKeys: [], file: file) == first)
            ServiceKeys.announced(file: file)
            let second = try ServiceKeys.resolve(apiKeys: [], masterKeys: [], file: file)
            #expect(!second.areNew)
            #expect(second.apiKeys == first.apiKeys)
            #expect(second.masterKeys == first.masterKeys)
        }
    }

    @Test func givenKeysWinAndAreNotKept() throws {
        try Self.withDirectory { file in
            let given = try ServiceKeys.resolve(
                apiKeys: ["an-api-key", "b-api-key"],
                masterKeys: ["a-master-key"],
                file: file
            )
            #expect(given == ServiceKeys(apiKeys: ["an-api-key", "b-api-key"], masterKeys: ["a-master-key"]))
            #expect(!FileManager.default.fileExists(atPath: file))

            let half = try ServiceKeys.resolve(apiKeys: ["an-api-key"], masterKeys: [], file: file)
            #expect(half.apiKeys == ["an-api-key"])
            #expect(half.masterKeys.map(\.count) == [64])
        }
    }

    @Test func aDamagedFileIsRefusedAndNotReplaced() throws {
        try Self.withDirectory { file in
            try "SKYROW_API_KEY=\n".write(toFile: file, atomically: false, encoding: .utf8)
            #expect(throws: ToolError.self) { try ServiceKeys.resolve(apiKeys: [], masterKeys: [], file: file) }
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "SKYROW_API_KEY=\n")
        }
    }
}
