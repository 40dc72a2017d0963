import SkyrowModel
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// The JSON file of settings.
@Suite struct SettingsFileTests {
    static func file(_ json: String) throws -> SettingsFile {
        try SettingsFile(path: "skyrow.json", json: Array(json.utf8))
    }

    @Test func everyScalarAndListIsTheTextThatAFlagWouldHave() throws {
        let file = try Self.file(
            #"{"port": 8080, "host": "::1", "development": true, "login-keys": ["email", "phone"], "schema": null}"#
        )
        #expect(file.texts == ["port": "8080", "host": "::1", "development": "true", "login-keys": "email,phone"])
        #expect(try Self.file("{}").texts.isEmpty)
    }

    @Test(arguments: [
        ("", "The settings file skyrow.json is not valid JSON."),
        ("port: 1", "The settings file skyrow.json is not valid JSON."),
        ("[]", "The settings file skyrow.json must contain one JSON object."),
        (
            #"{"port": {"number": 1}}"#,
            "'port' in skyrow.json must be a string, a number, true, false or a list of strings."
        ),
        (
            #"{"login-keys": [1]}"#,
            "'login-keys' in skyrow.json must be a string, a number, true, false or a list of strings."
        ),
        (#"{"login-keys": ["a,b"]}"#, "'login-keys' in skyrow.json must be"),
        (#"{"port": 1, "port": 2}"#, "'port' is in skyrow.json twice: remove one of them."),
    ])
    func aWrongFileIsOneSentence(json: String, sentence: String) {
        let error = #expect(throws: ToolError.self) { try Self.file(json) }
        #expect(error?.status == .configuration)
        #expect(error?.description.hasPrefix(sentence) == true)
        #expect(error?.description.hasSuffix(".") == true)
    }

    @Test func aFileThatIsNotThereIsNamed() {
        let error = #expect(throws: ToolError.self) { try SettingsFile(reading: "/nowhere/skyrow.json") }
        #expect(error == .configuration("Cannot open /nowhere/skyrow.json: No such file or directory."))
    }

    @Test(arguments: [
        ("500ms", Duration.milliseconds(500), "500ms"), ("30s", .seconds(30), "30s"), ("90", .seconds(90), "90s"),
        ("2m", .seconds(120), "2m"), ("12h", .seconds(43_200), "12h"), ("30d", .seconds(2_592_000), "30d"),
        ("120s", .seconds(120), "2m"), ("0", .zero, "0s"),
    ])
    func durationsAreReadAndWritten(text: String, duration: Duration, written: String) {
        #expect(DurationText.duration(text) == duration)
        #expect(DurationText.text(duration) == written)
    }

    @Test(arguments: ["", "s", "ms", "-1s", "1.5s", "1 s", "1w", "1S", "999999999999999999999s"])
    func otherTextsAreNoDurations(text: String) {
        #expect(DurationText.duration(text) == nil)
    }

    @Test(arguments: [
        ("port", "prot", 1), ("port", "port", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3),
        ("data_directory", "data-directory", 1),
    ])
    func distanceCountsChangesAndSwaps(a: String, b: String, distance: Int) {
        #expect(editDistance(a, b) == distance)
    }
}
