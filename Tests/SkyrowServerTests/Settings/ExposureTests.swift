import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// What every user of a machine can read in the list of processes, and what other machines reach.
@Suite struct ExposureTests {
    @Test(arguments: [
        ("postgresql://ann@db/app", false), ("postgresql://ann:secret@db/app", true),
        ("postgresql://db/app?user=ann&password=secret", true), ("postgresql:///app?sslpassword=x", true),
        ("host=db dbname=app", false), ("host=db password='secret'", true), ("host=db password=''", false),
        ("postgresql://a%40b@db/password", false),
    ])
    func aPasswordInTheAddressIsForTheEnvironmentOrAFile(url: String, isRefused: Bool) throws {
        func load(flags: [String: String], environment: [String: String] = [:]) throws -> Settings {
            try SettingsLoader(flags: flags, environment: environment).load()
        }
        #expect(try load(flags: [:], environment: ["SKYROW_DATABASE_URL": url]).database.url == url)
        guard isRefused else {
            #expect(try load(flags: ["database-url": url]).database.url == url)
            return
        }
        let error = #expect(throws: ToolError.self) { try load(flags: ["database-url": url]) }
        #expect(error?.status == .usage)
        #expect(error?.description.contains("SKYROW_DATABASE_URL") == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: [
        (["host": "0.0.0.0", "development": "true"], true), (["host": "::", "development": "true"], true),
        (["host": "db.example.org", "development": "true"], true), (["host": "10.0.0.1", "development": "true"], true),
        (["development": "true"], false), (["host": "127.8.0.1", "development": "true"], false),
        (["host": "::1", "development": "true"], false), (["host": "localhost", "development": "true"], false),
        (["host": "0.0.0.0"], false),
        (["host": "0.0.0.0", "development": "true", "public-development": "true"], false),
    ])
    func developmentModeIsNotForOtherMachinesUnlessSaid(flags: [String: String], isRefused: Bool) throws {
        let settings = try SettingsLoader(flags: flags, environment: [:]).load()
        guard isRefused else {
            try settings.refusePublicDevelopment()
            return
        }
        let error = #expect(throws: ToolError.self) { try settings.refusePublicDevelopment() }
        #expect(error?.description.contains("--public-development") == true)
    }
}
