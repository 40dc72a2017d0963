import Logging
import SkyrowStore
import Testing

@testable import skyrow

@Suite struct ServeSettingsTests {
    static func settings(_ flags: [String: String], _ environment: [String: String] = [:]) throws -> ServeSettings {
        try ServeSettings(SettingValues(flags: flags, environment: environment))
    }

    @Test func everySettingHasADefault() throws {
        let settings = try Self.settings([:])
        #expect(settings.host == "127.0.0.1")
        #expect(settings.port == 3000)
        #expect(settings.database.dataDirectory == "data")
        #expect(settings.database.databaseURL == nil)
        #expect(settings.database.schema == "app")
        #expect(!settings.isDevelopment)
        #expect(settings.apiKey == nil)
        #expect(settings.masterKey == nil)
        #expect(settings.loginKeys == LoginKeys.standard)
        #expect(settings.logLevel == .info)
        #expect(settings.maximumBody == 8 << 20)
    }

    @Test(arguments: [
        ("host", "SKYROW_HOST", "0.0.0.0", "::1"),
        ("port", "SKYROW_PORT", "0", "65535"),
        ("data-directory", "SKYROW_DATA_DIRECTORY", "/srv/a", "/srv/b"),
        ("database-url", "SKYROW_DATABASE_URL", "postgresql://a@h/d", "host=h dbname=d"),
        ("schema", "SKYROW_SCHEMA", "shop", "Shop_2"),
        ("development", "SKYROW_DEVELOPMENT", "true", "0"),
        ("login-keys", "SKYROW_LOGIN_KEYS", "email", "phone,email"),
        ("log-level", "SKYROW_LOG_LEVEL", "debug", "ERROR"),
        ("maximum-body", "SKYROW_MAXIMUM_BODY", "1024", "1073741824"),
        ("maximum-connections", "SKYROW_MAXIMUM_CONNECTIONS", "1", "500"),
        ("cors-origins", "SKYROW_CORS_ORIGINS", "none", "https://a.example,http://localhost:8080"),
        ("trusted-proxies", "SKYROW_TRUSTED_PROXIES", "127.0.0.1", "10.0.0.0/8,::1"),
        ("forwarded-header", "SKYROW_FORWARDED_HEADER", "forwarded", "X-Forwarded-For"),
    ])
    func theFlagWinsOverTheEnvironment(flag: String, variable: String, one: String, other: String) throws {
        let byFlag = try Self.settings([flag: one])
        let byEnvironment = try Self.settings([:], [variable: one])
        let byOther = try Self.settings([:], [variable: other])
        #expect(byFlag == byEnvironment)
        #expect(byFlag != byOther)
        #expect(try Self.settings([flag: one], [variable: other]) == byFlag)
        #expect(try Self.settings([:], [variable: ""]) == Self.settings([:]))
    }

    @Test(arguments: [
        ("port", "65536"), ("port", "-1"), ("port", "http"), ("port", ""), ("port", "3000.5"),
        ("host", ""), ("host", "a b"), ("host", "http://localhost"),
        ("data-directory", ""),
        ("database-url", "localhost"), ("database-url", "mysql://localhost/x"),
        ("schema", ""), ("schema", "a-b"), ("schema", "1a"), ("schema", "pg_x"), ("schema", "information_schema"),
        ("schema", "ä"), ("schema", String(repeating: "a", count: 64)), ("schema", "\"; drop table note; --"),
        ("development", "maybe"),
        ("login-keys", ""), ("login-keys", "email,"), ("login-keys", "_id"), ("login-keys", "a+b"),
        ("login-keys", "email,email"),
        ("log-level", "loud"),
        ("maximum-body", "0"), ("maximum-connections", "0"),
        ("cors-origins", ""), ("cors-origins", "a.example"), ("cors-origins", "https://a.example/"),
        ("cors-origins", "*,*"),
        ("trusted-proxies", ""), ("trusted-proxies", "10.0.0.1/8"), ("trusted-proxies", "::1,"),
        ("trusted-proxies", "localhost"), ("forwarded-header", "x-real-ip"),
    ])
    func aWrongValueIsOneSentenceThatNamesItsFlag(flag: String, text: String) throws {
        let error = #expect(throws: ToolError.self) { try Self.settings([flag: text]) }
        #expect(error?.exitCode == 64)
        #expect(error?.description.hasPrefix("--\(flag) must be ") == true)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func aWrongVariableIsNamedToo() throws {
        let error = #expect(throws: ToolError.self) { try Self.settings([:], ["SKYROW_PORT": "x"]) }
        #expect(error?.description == "SKYROW_PORT must be a whole number from 0 to 65535; it is 'x'.")
    }

    @Test func keysComeFromTheEnvironmentAlone() throws {
        let settings = try Self.settings(
            [:],
            ["SKYROW_API_KEY": "an-api-key", "SKYROW_MASTER_KEY": "a-long-master-key"]
        )
        #expect(settings.apiKey == "an-api-key")
        #expect(settings.masterKey == "a-long-master-key")
    }

    @Test(arguments: [
        ["SKYROW_MASTER_KEY": "short-master-ky"],
        ["SKYROW_API_KEY": "short"],
        ["SKYROW_API_KEY": "with a space in it"],
        ["SKYROW_API_KEY": "one-key-for-everything", "SKYROW_MASTER_KEY": "one-key-for-everything"],
        ["SKYROW_DATABASE_URL": "hunter2"],
    ])
    func aWrongSecretIsRefusedWithoutRepeatingIt(environment: [String: String]) throws {
        let error = #expect(throws: ToolError.self) { try Self.settings([:], environment) }
        #expect(error?.exitCode == 64)
        for secret in environment.values {
            #expect(error?.description.contains(secret) == false)
        }
    }
}
