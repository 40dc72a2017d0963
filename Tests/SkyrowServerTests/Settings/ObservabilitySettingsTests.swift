import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct ObservabilitySettingsTests {
    private func settings(_ flags: [String: String]) throws -> Settings {
        try SettingsLoader(flags: flags, environment: [:]).load()
    }

    @Test(arguments: [
        ("key", MetricsAccess.keyHolders), ("open", .everybody), ("off", .nobody),
        ("127.0.0.1:9464", .address(host: "127.0.0.1", port: 9464)), ("0.0.0.0:0", .address(host: "0.0.0.0", port: 0)),
        ("[::1]:9464", .address(host: "::1", port: 9464)), ("localhost:1", .address(host: "localhost", port: 1)),
    ])
    func metricsAreForWhomItSays(text: String, access: MetricsAccess) throws {
        #expect(try settings(["metrics": text]).observability.metrics == access)
    }

    @Test(arguments: [
        "", "yes", "KEY", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
        "::1:9464",
        "[::1]", "[127.0.0.1]:9464", "[]:9464", "a b:1", "http://x:1",
    ])
    func otherWordsAreRefused(text: String) {
        #expect(throws: ToolError.self) { try settings(["metrics": text]) }
    }

    @Test(arguments: [
        ("key", true), ("off", true), ("open", false), ("127.0.0.1:1", false), ("127.9.9.9:1", false),
        ("[::1]:1", false),
        ("localhost:1", false), ("0.0.0.0:1", true), ("[::]:1", true), ("10.0.0.1:1", true), ("128.0.0.1:1", true),
        ("[::2]:1", true), ("example.org:1", true), ("localhost.example.org:1", true),
        ("127.0.0.1.example.org:1", true),
    ])
    func strangersNeedAKeyUnlessAnOperatorSaysOtherwise(text: String, needsKey: Bool) throws {
        let access = try settings(["metrics": text]).observability.metrics
        #expect(access.needsKey(hasOne: false) == needsKey)
        #expect(access.needsKey(hasOne: true) == (text != "open"))
    }

    @Test(arguments: [
        ("off", Duration?.none), ("OFF", .none), ("0", .zero), ("0s", .zero), ("250ms", .milliseconds(250)),
        ("2m", .seconds(120)),
    ])
    func aThresholdIsADurationOrNone(text: String, threshold: Duration?) throws {
        #expect(try settings(["slow-statement": text]).observability.slowStatement == threshold)
    }

    @Test(arguments: [
        ("slow-statement", "slow"), ("slow-statement", "-1s"), ("slow-statement", ""), ("trace-ratio", "1.5"),
        ("trace-ratio", "-0.1"), ("trace-ratio", "nan"), ("trace-ratio", "half"), ("trace-file-size", "1000"),
        ("trace-file", ""),
    ])
    func whatMakesNoSenseIsRefused(name: String, text: String) {
        #expect(throws: ToolError.self) { try settings([name: text]) }
    }

    @Test func withoutAWordAboutItTheMasterKeyIsNeeded() throws {
        let observability = try settings([:]).observability
        #expect(observability.metrics == .keyHolders)
        #expect(observability.slowStatement == .seconds(1))
        #expect(observability.traceFile == nil)
        #expect(observability.traceRatio == 1)
    }
}
