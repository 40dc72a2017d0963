import Foundation
import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// The table of settings, and how values are taken from flags, environment and file.
@Suite struct SettingsTests {
    static func settings(
        _ flags: [String: String] = [:],
        _ environment: [String: String] = [:],
        file: [String: String]? = nil
    ) throws -> Settings {
        var settingsFile: SettingsFile?
        if let file {
            settingsFile = try SettingsFile(path: "skyrow.json", json: Array("{}".utf8))
            settingsFile?.texts = file
        }
        return try Settings(SettingSources(flags: flags, environment: environment, file: settingsFile))
    }

    @Test func everySettingHasADefault() throws {
        let settings = try Self.settings()
        #expect(settings.listening.host == "127.0.0.1")
        #expect(settings.listening.port == 3000)
        #expect(settings.database.dataDirectory == "data")
        #expect(settings.database.url == nil)
        #expect(settings.database.schema == "app")
        #expect(!settings.records.isDevelopment)
        #expect(settings.keys.apiKey.isEmpty)
        #expect(settings.keys.masterKey.isEmpty)
        #expect(settings.accounts.loginKeys == LoginKeys.default)
        #expect(settings.logging.level == .info)
        #expect(settings.listening.maximumBody == 8 << 20)
    }

    @Test func compatibilityGivesDefaults() throws {
        let v1 = try Self.settings(["compatibility": "skygear-v1"])
        #expect(v1.accounts.passwordMinimum == 1)
        let readers: [FieldName: FieldRule.Readers] = [
            try FieldName("username"): .users, try FieldName("email"): .users,
        ]
        #expect(v1.accounts.loginKeyReaders == readers)
        #expect(v1.accounts.relationAudience == .everyone)
        #expect(v1.accounts.origin(of: \.passwordMinimum)?.description == "'compatibility' skygear-v1")
        // What is given holds, by whatever way.
        let own = try Self.settings(["password-minimum": "10"], [:], file: ["compatibility": "skygear-v1"])
        #expect(own.accounts.passwordMinimum == 10 && own.accounts.relationAudience == .everyone)
        let none = try Self.settings(["compatibility": "none"])
        #expect(none.accounts.passwordMinimum == 8 && none.accounts.relationAudience == .readable)
        #expect(throws: ToolError.self) { try Self.settings(["compatibility": "skygear"]) }
        // The applications of a service need not all be for the same.
        let shop = SettingSources.ApplicationSource(
            name: try ApplicationName("shop"),
            stored: ["compatibility": "none"]
        )
        let sources = SettingSources(flags: ["compatibility": "skygear-v1"], environment: [:], application: shop)
        #expect(try Settings(sources).accounts.passwordMinimum == 8)
    }

    /// Each is the default of a setting that there is, and in the manual.
    @Test func compatibilityIsInTheManual() throws {
        let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardized
        let page = root.appendingPathComponent("Documentation/Protocol/skygear-v1.md")
        let manual = try String(contentsOf: page, encoding: .utf8)
        let rows = Dictionary(
            uniqueKeysWithValues: SettingsTable.groups.flatMap { $0.settings }.map { ($0.row.name, $0) }
        )
        for (name, text) in Compatibility.skygearV1.defaults {
            let setting = try #require(rows[name])
            #expect(setting.read(text) != nil)
            #expect(manual.contains("| `\(name)` | `\(setting.row.defaultValue)` | `\(text)` |"), "\(name)")
        }
        #expect(Compatibility.none.defaults.isEmpty)
    }

    @Test func theSessionsOfTheServiceCompileNothing() throws {
        let configuration = PostgresConfiguration(connection: "postgresql://", try Self.settings())
        #expect(configuration.sessionSettings["jit"] == "off")
    }

    @Test func theTableShowsTheDefaultsThatHold() throws {
        for setting in SettingsTable.groups.flatMap({ $0.settings }) where !setting.row.defaultValue.isEmpty {
            let value = try #require(setting.read(setting.row.defaultValue))
            #expect(Self.text(value) == Self.text(setting.defaultSettingValue), "\(setting.row.name)")
        }
    }

    /// A dictionary has no order of its own.
    private static func text(_ value: Any) -> String {
        guard let readers = value as? [FieldName: FieldRule.Readers] else { return "\(value)" }
        return "\(readers.sorted { $0.key.rawValue < $1.key.rawValue })"
    }

    @Test func noTwoSettingsShareAName() {
        let names = SettingsTable.rows.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.contains("master-key-file"))
    }

    @Test func everySentenceIsOne() {
        for row in SettingsTable.rows {
            #expect(row.sentence.hasSuffix("."), "\(row.name)")
            #expect(row.sentence.first?.isUppercase == true, "\(row.name)")
            #expect(!row.expectation.hasSuffix("."), "\(row.name)")
        }
    }

    @Test(arguments: [
        ("host", "SKYROW_HOST", "0.0.0.0", "::1"),
        ("port", "SKYROW_PORT", "0", "65535"),
        ("data-directory", "SKYROW_DATA_DIRECTORY", "/srv/a", "/srv/b"),
        ("database-url", "SKYROW_DATABASE_URL", "postgresql://a@h/d", "host=h dbname=d"),
        ("schema", "SKYROW_SCHEMA", "shop", "Shop_2"),
        ("development", "SKYROW_DEVELOPMENT", "true", "0"),
        ("step-up", "SKYROW_STEP_UP", "record:save", "none"),
        ("login-keys", "SKYROW_LOGIN_KEYS", "email", "phone,email"),
        ("log-level", "SKYROW_LOG_LEVEL", "debug", "ERROR"),
        ("maximum-body", "SKYROW_MAXIMUM_BODY", "1024", "134217728"),
        ("maximum-connections", "SKYROW_MAXIMUM_CONNECTIONS", "1", "500"),
        ("cors-origins", "SKYROW_CORS_ORIGINS", "none", "https://a.example,http://localhost:8080"),
        ("trusted-proxies", "SKYROW_TRUSTED_PROXIES", "127.0.0.1", "10.0.0.0/8,::1"),
        ("forwarded-header", "SKYROW_FORWARDED_HEADER", "forwarded", "X-Forwarded-For"),
        ("rate-limit-login", "SKYROW_RATE_LIMIT_LOGIN", "off", "100/s"),
        ("session-absolute", "SKYROW_SESSION_ABSOLUTE", "never", "12h"),
        ("session-rotate", "SKYROW_SESSION_ROTATE", "off", "1d"),
        ("statement-timeout", "SKYROW_STATEMENT_TIMEOUT", "500ms", "2m"),
    ])
    func theFlagWinsOverTheEnvironmentAndThatOverTheFile(
        name: String,
        variable: String,
        one: String,
        other: String
    ) throws {
        let row = try #require(SettingsTable.rows.first { $0.name == name })
        func given(_ settings: Settings) throws -> String {
            let given = try #require(settings.given(row))
            return "\(given.origin.description): \(given.text) \(given.value)"
        }
        let byFlag = try given(Self.settings([name: one]))
        let byEnvironment = try given(Self.settings([:], [variable: one]))
        let byFile = try given(Self.settings(file: [name: one]))
        #expect(byFlag.hasPrefix("--\(name): \(one) "))
        #expect(byEnvironment.hasPrefix("\(variable): \(one) "))
        #expect(byFile.hasPrefix("'\(name)' in skyrow.json: \(one) "))
        #expect(try given(Self.settings([name: one], [variable: other], file: [name: other])) == byFlag)
        #expect(try given(Self.settings([:], [variable: one], file: [name: other])) == byEnvironment)
        // An empty variable is none.
        #expect(try given(Self.settings([:], [variable: ""], file: [name: one])) == byFile)
        #expect(try Self.settings([:], [variable: ""]).given(row) == nil)
    }

    @Test(arguments: [
        ("port", "65536"), ("port", "-1"), ("port", "http"), ("port", ""), ("port", "3000.5"),
        ("host", ""), ("host", "a b"), ("host", "http://localhost"),
        ("data-directory", ""), ("config", ""),
        ("database-url", "localhost"), ("database-url", "mysql://localhost/x"),
        ("schema", ""), ("schema", "a-b"), ("schema", "1a"), ("schema", "pg_x"), ("schema", "information_schema"),
        ("schema", "ä"), ("schema", String(repeating: "a", count: 64)), ("schema", "\"; drop table note; --"),
        ("development", "maybe"),
        ("login-keys", ""), ("login-keys", "email,"), ("login-keys", "_id"), ("login-keys", "a+b"),
        ("login-keys", "email,email"),
        ("log-level", "loud"), ("log-format", "xml"), ("step-up", "auth:login"), ("step-up", "auth:stepup"),
        ("step-up", "none,me"), ("step-up", ""), ("step-up", "record:steal"),
        ("maximum-body", "0"), ("maximum-connections", "0"),
        ("cors-origins", ""), ("cors-origins", "a.example"), ("cors-origins", "https://a.example/"),
        ("cors-origins", "*,*"),
        ("trusted-proxies", ""), ("trusted-proxies", "10.0.0.1/8"), ("trusted-proxies", "::1,"),
        ("trusted-proxies", "localhost"), ("forwarded-header", "x-real-ip"),
        ("rate-limit-client", "0/s"), ("rate-limit-client", "10"), ("rate-limit-user", "10/d"),
        ("rate-limit-login", "-1/s"), ("rate-limit-login", "1/s/s"),
        ("login-key-readers", ""), ("login-key-readers", "email"), ("login-key-readers", "email=nobody"),
        ("login-key-readers", "email=owner,email=users"), ("login-scripts", "latin"), ("session-idle", "1m"),
        ("group-rule", ""), ("group-rule", "self:"), ("group-rule", "everyone"), ("relation-audience", "friends"),
        ("session-limit", "0"), ("password-minimum", "0"), ("password-classes", "digit,"), ("password-threads", "0"),
        ("guess-limit-client", "-1"),
        ("guess-limit-total", "x"), ("audit-retention", "1h"), ("master-key-networks", "everywhere"),
        ("session-absolute", "0"), ("session-absolute", "soon"), ("session-rotate", "1m"),
        ("statement-timeout", "10ms"),
        ("idle-timeout", "-5s"), ("idle-timeout", "5 s"), ("idle-timeout", "99999999999d"),
    ])
    func aWrongValueIsOneSentenceThatNamesItsOrigin(name: String, text: String) throws {
        let byFlag = #expect(throws: ToolError.self) { try Self.settings([name: text]) }
        #expect(byFlag?.status == .usage)
        #expect(byFlag?.description.hasPrefix("--\(name) must be ") == true)
        #expect(byFlag?.description.contains("\n") == false)
        guard name != "config" else { return }
        let byFile = #expect(throws: ToolError.self) { try Self.settings(file: [name: text]) }
        #expect(byFile?.status == .configuration)
        #expect(byFile?.description.hasPrefix("'\(name)' in skyrow.json must be ") == true)
    }

    @Test func aWrongVariableIsNamedToo() throws {
        let error = #expect(throws: ToolError.self) { try Self.settings([:], ["SKYROW_PORT": "x"]) }
        #expect(error?.description == "SKYROW_PORT must be a whole number from 0 to 65535; it is 'x'.")
        #expect(error?.status == .configuration)
    }

    @Test(arguments: [
        (["SKYROW_PROT": "1"], "SKYROW_PROT is not a setting; did you mean SKYROW_PORT?"),
        (["SKYROW_MAXIMUM_BODDY": "1"], "SKYROW_MAXIMUM_BODDY is not a setting; did you mean SKYROW_MAXIMUM_BODY?"),
        (["SKYROW_WHATEVER_IT_IS": "1"], "SKYROW_WHATEVER_IT_IS is not a setting; `skyrow config` lists all."),
    ])
    func anUnknownVariableIsRefusedWithTheNearestOne(environment: [String: String], sentence: String) {
        let error = #expect(throws: ToolError.self) { try Self.settings([:], environment) }
        #expect(error == .configuration(sentence))
    }

    @Test(arguments: [
        (["prot": "1"], "'prot' in skyrow.json is not a setting; did you mean port?"),
        (["data_directory": "d"], "'data_directory' in skyrow.json is not a setting; did you mean data-directory?"),
        // A file cannot say where the file is.
        (["config": "other.json"], "'config' in skyrow.json is not a setting; `skyrow config` lists all."),
    ])
    func anUnknownKeyIsRefusedWithTheNearestOne(file: [String: String], sentence: String) {
        let error = #expect(throws: ToolError.self) { try Self.settings(file: file) }
        #expect(error == .configuration(sentence))
    }

    @Test func aChangeTellsWhatIsTakenAtOnceFromWhatWaits() throws {
        let old = try Self.settings(file: ["port": "1", "log-level": "info", "schema": "app"])
        let new = try Self.settings(file: ["port": "2", "log-level": "debug", "rate-limit-user": "9/s"])
        let change = SettingsChange(from: old, to: new)
        #expect(change.applied == ["rate-limit-user", "log-level"])
        #expect(change.waiting == ["port"])
    }

    @Test func otherVariablesAreNobodysBusiness() throws {
        let others = [
            "SKYROW_TEST_SEED": "7", "SKYROW_TEST_LATE": "7", "SKYROW_TEST_PATIENCE": "1", "SKYROW_PROT": "",
        ]
        let settings = try Self.settings([:], others.merging(["SKYROW": "1", "PORT": "1"]) { first, _ in first })
        #expect(settings.listening.port == 3000)
    }

    @Test(arguments: [
        (["read-connections": "9"], "read-connections must not exceed maximum-read-connections."),
        (
            ["maximum-body": "2000000", "maximum-body-memory": "1500000"],
            "maximum-body must not exceed maximum-body-memory: no request of that size would fit."
        ),
    ])
    func whatDoesNotFitTogetherIsRefused(file: [String: String], sentence: String) {
        let error = #expect(throws: ToolError.self) { try Self.settings(file: file) }
        #expect(error == .configuration(sentence))
    }
}

extension AnySetting {
    /// The default, whatever its type.
    fileprivate var defaultSettingValue: Any {
        Mirror(reflecting: self).children.first { $0.label == "defaultValue" }?.value ?? ()
    }
}
