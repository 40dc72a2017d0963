import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Keys and addresses with passwords: where they may come from, and that they are never repeated.
@Suite struct SecretSettingsTests {
    @Test func keysComeFromTheEnvironment() throws {
        let settings = try SettingsTests.settings(
            [:],
            ["SKYROW_API_KEY": "an-api-key", "SKYROW_MASTER_KEY": "a-long-master-key"]
        )
        #expect(settings.keys.apiKey == ["an-api-key"])
        #expect(settings.keys.masterKey == ["a-long-master-key"])
    }

    @Test(arguments: [
        ["SKYROW_MASTER_KEY": "short-master-ky"],
        ["SKYROW_API_KEY": "short"],
        ["SKYROW_API_KEY": "with a space in it"],
        ["SKYROW_API_KEY": "one-key-for-everything", "SKYROW_MASTER_KEY": "one-key-for-everything"],
        ["SKYROW_API_KEY": "an-api-key another-one a-third-one"],
        ["SKYROW_MASTER_KEY": "a-long-master-key too-short"],
        [
            "SKYROW_API_KEY": "an-old-key-of-both a-new-api-key",
            "SKYROW_MASTER_KEY": "a-long-master-key an-old-key-of-both",
        ],
        ["SKYROW_DATABASE_URL": "hunter2"],
    ])
    func aWrongSecretIsRefusedWithoutRepeatingIt(environment: [String: String]) throws {
        let error = #expect(throws: ToolError.self) { try SettingsTests.settings([:], environment) }
        #expect(error?.status == .configuration)
        for secret in environment.values {
            #expect(error?.description.contains(secret) == false)
        }
    }

    @Test func aKeyIsTwoWhileItIsChanged() throws {
        let settings = try SettingsTests.settings([:], ["SKYROW_API_KEY": "a-new-key an-old-key"])
        #expect(settings.keys.apiKey == ["a-new-key", "an-old-key"])
        let folder = try TemporaryDirectory()
        let path = folder.path + "/key"
        try "a-new-master-key\nan-old-master-key\n".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(
            try SettingsTests.settings(["master-key-file": path]).keys.masterKey
                == ["a-new-master-key", "an-old-master-key"]
        )
    }

    @Test func aSecretIsReadFromAFileWithoutTheEndOfItsLine() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/key"
        try "a-long-master-key\n".write(toFile: path, atomically: false, encoding: .utf8)
        let settings = try SettingsTests.settings(["master-key-file": path])
        #expect(settings.keys.masterKey == ["a-long-master-key"])
        #expect(
            try SettingsTests.settings([:], ["SKYROW_MASTER_KEY_FILE": path]).keys.masterKey == ["a-long-master-key"]
        )
        #expect(try SettingsTests.settings(file: ["master-key-file": path]).keys.masterKey == ["a-long-master-key"])

        // The stronger source wins, whichever of both ways it takes.
        let environment = ["SKYROW_MASTER_KEY": "another-master-key"]
        #expect(
            try SettingsTests.settings(["master-key-file": path], environment).keys.masterKey == ["a-long-master-key"]
        )
        #expect(
            try SettingsTests.settings([:], environment, file: ["master-key-file": path]).keys.masterKey == [
                "another-master-key"
            ]
        )
    }

    @Test func aSecretGivenInBothWaysAtOnceIsRefused() throws {
        let environment = ["SKYROW_MASTER_KEY": "a-long-master-key", "SKYROW_MASTER_KEY_FILE": "/nowhere"]
        let error = #expect(throws: ToolError.self) { try SettingsTests.settings([:], environment) }
        #expect(
            error == .configuration("SKYROW_MASTER_KEY and SKYROW_MASTER_KEY_FILE are both set: remove one of them.")
        )
    }

    @Test func aFileOfASecretThatIsNotThereIsNamed() throws {
        let error = #expect(throws: ToolError.self) {
            try SettingsTests.settings([:], ["SKYROW_API_KEY_FILE": "/nowhere/key"])
        }
        #expect(
            error == .configuration("SKYROW_API_KEY_FILE: Cannot open /nowhere/key: No such file or directory.")
        )
    }

    @Test func aWrongSecretInAFileIsNotRepeated() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/key"
        try "hunter2".write(toFile: path, atomically: false, encoding: .utf8)
        let error = #expect(throws: ToolError.self) {
            try SettingsTests.settings([:], ["SKYROW_MASTER_KEY_FILE": path])
        }
        #expect(error?.description.hasPrefix("SKYROW_MASTER_KEY_FILE must be at least 16 characters") == true)
        #expect(error?.description.contains("hunter2") == false)
    }
}
