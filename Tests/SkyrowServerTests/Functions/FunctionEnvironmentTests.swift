import Glibc
import Logging
import Testing

@testable import SkyrowServer

@Suite struct FunctionEnvironmentTests {
    private static let environment = FunctionEnvironment(
        endpoint: "https://127.0.0.1:3000",
        apiKey: "api",
        masterKey: "master",
        schema: "app_shop",
        databaseURL: "postgresql://h/d",
        filePrefix: "https://127.0.0.1:3000/files",
        fileSecret: "file-secret",
        logLevel: .notice
    )

    @Test func nothingElseIsInherited() {
        let service = [
            "PATH": "/bin", "HOME": "/root", "LANG": "C", "TZ": "UTC", "TMPDIR": "/tmp", "SKYROW_MASTER_KEY": "x",
            "PGPASSWORD": "secret", "LD_PRELOAD": "evil",
        ]
        let variables = Self.environment.variables(
            address: "127.0.0.1:8000",
            secret: [1, 2, 3],
            service: service,
            own: ["LOCALE": "de"]
        )
        let both = [
            "API_KEY": "api", "MASTER_KEY": "master", "APP_NAME": "shop", "DATABASE_URL": "postgresql://h/d",
            "HTTP": "true", "HTTP_ADDR": "127.0.0.1:8000", "ASSET_STORE": "fs",
            "ASSET_STORE_URL_PREFIX": "https://127.0.0.1:3000/files", "ASSET_STORE_SECRET": "file-secret",
            "PUBSUB_URL": "wss://127.0.0.1:3000/pubsub", "LOG_LEVEL": "INFO",
        ]
        var expected = [
            "PATH": "/bin", "HOME": "/root", "LANG": "C", "TZ": "UTC", "TMPDIR": "/tmp", "LOCALE": "de",
            "SKYGEAR_ENDPOINT": "https://127.0.0.1:3000", "SKYROW_ENDPOINT": "https://127.0.0.1:3000",
            "SKYROW_FUNCTION_SECRET": "whsec_AQID",
        ]
        for (name, value) in both {
            expected[name] = value
            expected["SKYROW_\(name)"] = value
        }
        #expect(variables == expected)
    }

    @Test func theDirectoryHasTheLastWordAndAPathIsAlwaysThere() {
        let variables = Self.environment.variables(address: "a", secret: [], service: [:], own: ["LOG_LEVEL": "DEBUG"])
        #expect(variables["LOG_LEVEL"] == "DEBUG" && variables["SKYROW_LOG_LEVEL"] == "INFO")
        #expect(variables["PATH"]?.isEmpty == false)
        var bare = Self.environment
        bare.databaseURL = nil
        bare.fileSecret = nil
        bare.schema = "app"
        let fewer = bare.variables(address: "a", secret: [], service: [:], own: [:])
        #expect(fewer["DATABASE_URL"] == nil && fewer["SKYROW_ASSET_STORE_SECRET"] == nil)
        #expect(fewer["APP_NAME"] == "app")
    }

    @Test(
        arguments: [
            ("postgresql://a@h/d?sslmode=require", "postgresql://a@h/d?sslmode=require"),
            ("postgres://a@h/d", "postgresql://a@h/d"),
            (
                "host='/srv/a b' port=5432 user=skyrow_service dbname=skyrow",
                "postgresql:///?dbname=skyrow&host=%2Fsrv%2Fa%20b&port=5432&user=skyrow_service"
            ), ("host=a dbname", nil),
        ] as [(String, String?)]
    )
    func theDatabaseHasAnAddress(_ connection: String, _ url: String?) {
        #expect(FunctionEnvironment.databaseURL(ofConnection: connection) == url)
    }

    @Test func aDescriptorOfTheServiceIsNamedByItsProcess() {
        let url = FunctionEnvironment.databaseURL(ofConnection: "host='/proc/self/fd/7' dbname=skyrow")
        #expect(url == "postgresql:///?dbname=skyrow&host=%2Fproc%2F\(getpid())%2Ffd%2F7")
    }
}
