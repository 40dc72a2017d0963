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
            let first = try ServiceKeys.resolve(apiKey: nil, masterKey: nil, file: file)
            #expect(first.areNew)
            #expect(first.apiKey.count == 64)
            #expect(first.masterKey.count == 64)
            #expect(first.apiKey != first.masterKey)
            let mode = try FileManager.default.attributesOfItem(atPath: file + ".new")[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: (file as NSString).deletingLastPathComponent) == [
                    "keys.new"
                ]
            )

            // Until the operator was told, they stay new.
            #expect(try ServiceKeys.resolve(apiKey: nil, masterKey: nil, file: file) == first)
            ServiceKeys.announced(file: file)
            let second = try ServiceKeys.resolve(apiKey: nil, masterKey: nil, file: file)
            #expect(!second.areNew)
            #expect(second.apiKey == first.apiKey)
            #expect(second.masterKey == first.masterKey)
        }
    }

    @Test func givenKeysWinAndAreNotKept() throws {
        try Self.withDirectory { file in
            let given = try ServiceKeys.resolve(apiKey: "an-api-key", masterKey: "a-master-key", file: file)
            #expect(given == ServiceKeys(apiKey: "an-api-key", masterKey: "a-master-key"))
            #expect(!FileManager.default.fileExists(atPath: file))

            let half = try ServiceKeys.resolve(apiKey: "an-api-key", masterKey: nil, file: file)
            #expect(half.apiKey == "an-api-key")
            #expect(half.masterKey.count == 64)
        }
    }

    @Test func aDamagedFileIsRefusedAndNotReplaced() throws {
        try Self.withDirectory { file in
            try "SKYROW_API_KEY=\n".write(toFile: file, atomically: false, encoding: .utf8)
            #expect(throws: ToolError.self) { try ServiceKeys.resolve(apiKey: nil, masterKey: nil, file: file) }
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "SKYROW_API_KEY=\n")
        }
    }
}
