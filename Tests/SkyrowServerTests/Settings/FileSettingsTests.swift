import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct FileSettingsTests {
    private static let secret = "a-secret-of-a-proxy"

    private func load(_ flags: [String: String], secret: String? = nil) throws -> Settings {
        try SettingsLoader(flags: flags, environment: secret.map { ["SKYROW_FILE_SECRET": $0] } ?? [:]).load()
    }

    @Test func filesAreInTheDataDirectoryUnlessTheyHaveTheirOwn() throws {
        #expect(try load([:]).fileDirectory == "data/files")
        #expect(try load(["data-directory": "/srv/data"]).fileDirectory == "/srv/data/files")
        // Also where the database is elsewhere: the service has its keys there.
        #expect(try load(["database-url": "postgresql://a@h/d"]).fileDirectory == "data/files")
        #expect(try load(["data-directory": "/srv/data", "file-directory": "/srv/x"]).fileDirectory == "/srv/x")
    }

    @Test(
        arguments: [
            ([:], "http://127.0.0.1:3000/files"),
            (["port": "0"], "http://127.0.0.1:3000/files"),
            (["host": "0.0.0.0"], "http://localhost:3000/files"),
            (["host": "::"], "http://localhost:3000/files"),
            (["host": "::1"], "http://[::1]:3000/files"),
            (["host": "api.internal"], "http://api.internal:3000/files"),
            (["tls-certificate": "c.pem", "tls-key": "k.pem"], "https://127.0.0.1:3000/files"),
            (["public-url": "https://api.example.org/"], "https://api.example.org/files"),
            (["public-url": "https://example.org/api"], "https://example.org/api/files"),
            (
                ["public-url": "https://api.example.org", "file-url-prefix": "https://cdn.example.org/f/"],
                "https://cdn.example.org/f"
            ),
        ] as [([String: String], String)]
    )
    func addressesBeginWithWhatClientsReach(_ flags: [String: String], _ prefix: String) throws {
        #expect(try load(flags).fileURLPrefix(port: 3000) == prefix)
    }

    @Test func defaultsThatFollowFromOtherSettingsAreShown() throws {
        #expect(
            try load(["data-directory": "/srv/data"]).derivedDefaults
                == ["file-directory": "/srv/data/files", "file-url-prefix": "http://127.0.0.1:3000/files"]
        )
        // The system chooses the port later.
        #expect(try load(["port": "0"]).derivedDefaults == ["file-directory": "data/files"])
        #expect(
            try load(["port": "0", "public-url": "https://a.example"]).derivedDefaults["file-url-prefix"]
                == "https://a.example/files"
        )
        let rows = Dictionary(uniqueKeysWithValues: SettingsTable.rows.map { ($0.name, $0) })
        for name in try load([:]).derivedDefaults.keys { #expect(rows[name]?.defaultValue == "") }
    }

    @Test func anApplicationHasItsOwnFilesAndSecret() async throws {
        let folder = try TemporaryDirectory()
        let flags = ["file-directory": folder.path + "/files", "maximum-file": "1000"]
        let environment = ["SKYROW_FILE_SECRET": Self.secret]
        let loader = SettingsLoader(flags: flags, environment: environment)
        let service = try loader.load()
        let app = try #require(try await service.fileConfiguration(of: .default, port: 3000))
        #expect(app.secret == Array(Self.secret.utf8))
        #expect(app.application == .default && app.storage.kind == "local")
        #expect(app.maximum == 1000 && app.uploads == .user && app.types == .every)
        #expect(app.urlPrefix == "http://127.0.0.1:3000/files")
        #expect(app.urlLifetime == .seconds(900) && app.grace == .seconds(86_400) && app.time == .seconds(3600))

        let name = try ApplicationName("shop")
        let stored = ["file-uploads": "key", "file-types": "image/*"]
        let settings = try loader.load(of: name, stored: stored)
        let shop = try #require(try await settings.fileConfiguration(of: name, port: 3000))
        // With that of the default one, it could sign for files that are not its own.
        #expect(shop.secret == nil)
        #expect(shop.application == name && shop.maximum == 1000 && shop.uploads == .key)
        #expect(shop.types == FileTypes("image/*"))
        #expect(contents(folder.path + "/files") == ["app", "shop"])

        let without = try loader.load(of: name, stored: ["files": "off"])
        #expect(try await without.fileConfiguration(of: name, port: 3000) == nil)
        // The directory is the service's.
        #expect(SettingsTable.rows.first { $0.name == "file-directory" }?.isOfApplications == false)
    }

    @Test func withoutFilesNoDirectoryIsMade() async throws {
        let folder = try TemporaryDirectory()
        let settings = try load(["files": "off", "data-directory": folder.path])
        #expect(try await settings.fileConfiguration(of: .default, port: 3000) == nil)
        #expect(contents(folder.path).isEmpty)
    }

    private static let bucket = [
        "SKYROW_FILES": "s3", "SKYROW_S3_BUCKET": "pictures", "SKYROW_S3_ACCESS_KEY": "AKIATEST",
        "SKYROW_S3_SECRET_KEY": "a-secret-of-a-store",
    ]

    @Test func filesAreInABucket() async throws {
        let folder = try TemporaryDirectory()
        let loader = SettingsLoader(flags: ["file-directory": folder.path + "/files"], environment: Self.bucket)
        let settings = try loader.load()
        let files = try #require(try await settings.fileConfiguration(of: .default, port: 3000))
        #expect(files.storage.kind == "s3" && files.storage.kinds == ["s3", "local"])
        #expect(files.storage.directUploads == nil)
        // Uploads are written to it first.
        #expect(contents(folder.path + "/files/app") == ["incoming"])
        let secrets = SettingsTable.rows.filter { $0.name.hasPrefix("s3-") && $0.isSecret }
        #expect(secrets.map(\.name) == ["s3-access-key", "s3-secret-key"])
        #expect(secrets.allSatisfy { !$0.hasFlag && $0.fileRow != nil })
        #expect(SettingsTable.rows.filter { $0.name.hasPrefix("s3-") }.allSatisfy { !$0.isOfApplications })
    }

    @Test(arguments: ["s3-bucket", "s3-access-key", "s3-secret-key"])
    func aBucketNeedsANameAndAKey(_ name: String) throws {
        var environment = Self.bucket
        environment["SKYROW_\(name.uppercased().replacing("-", with: "_"))"] = nil
        let error = #expect(throws: ToolError.self) {
            try SettingsLoader(flags: [:], environment: environment).load()
        }
        #expect(error?.description == "With files s3, \(name) is required.")
        environment["SKYROW_FILES"] = "local"
        _ = try SettingsLoader(flags: [:], environment: environment).load()
    }

    @Test func compatibilityLetsKeysUpload() throws {
        #expect(try load(["compatibility": "skygear-v1"]).files.uploads == .key)
        #expect(try load(["compatibility": "skygear-v1", "file-uploads": "user"]).files.uploads == .user)
    }

    @Test(arguments: [
        ("files", "local"), ("files", "off"), ("file-url-lifetime", "1m"), ("file-url-lifetime", "7d"),
        ("file-uploads", "administrator"), ("maximum-file", "1"), ("maximum-file", "1099511627776"),
        ("file-types", "image/*,application/pdf"), ("file-grace", "365d"), ("file-time", "1m"),
        ("file-url-prefix", "http://localhost:8080/files"), ("file-directory", "/srv/files"),
        ("file-delivery", "redirect"), ("file-direct", "true"), ("s3-endpoint", "http://minio.internal:9000"),
        ("s3-region", "eu-central-1"), ("s3-bucket", "my.files-1"), ("s3-path-style", "true"),
    ])
    func whatCanWorkIsAccepted(_ name: String, _ text: String) throws {
        let row = try #require(SettingsTable.rows.first { $0.name == name })
        #expect(try load([name: text]).given(row)?.text == text)
    }

    @Test(
        arguments: [
            (["files": "s4"], "--files must be local, s3 or off; it is 's4'."),
            (["files": ""], "--files must be local, s3 or off; it is ''."),
            (["file-delivery": "proxy"], "--file-delivery must be stream or redirect; it is 'proxy'."),
            (
                ["s3-endpoint": "https://s3.example.org/files"],
                "--s3-endpoint must be https:// or http:// with a host and an optional port, such as "
                    + "https://s3.eu-central-1.amazonaws.com; it is 'https://s3.example.org/files'."
            ),
            (["s3-region": "a b"], "--s3-region must be 1 to 64 letters, digits and hyphens; it is 'a b'."),
            (
                ["s3-bucket": "Files"],
                "--s3-bucket must be 3 to 63 lowercase letters, digits, dots and hyphens; it is 'Files'."
            ),
            (["file-directory": ""], "--file-directory must be the path of a directory; it is ''."),
            (
                ["file-url-prefix": "/files"],
                "--file-url-prefix must be https://host, with an optional port and path, or http:// for development; "
                    + "it is '/files'."
            ),
            (
                ["file-url-prefix": "https://a.example/?a=b"],
                "--file-url-prefix must be https://host, with an optional port and path, or http:// for development; "
                    + "it is 'https://a.example/?a=b'."
            ),
            (
                ["file-url-lifetime": "59s"],
                "--file-url-lifetime must be a duration from 1m to 7d, such as 15m; it is '59s'."
            ),
            (
                ["file-url-lifetime": "8d"],
                "--file-url-lifetime must be a duration from 1m to 7d, such as 15m; it is '8d'."
            ),
            (["file-uploads": "everyone"], "--file-uploads must be user, key or administrator; it is 'everyone'."),
            (["maximum-file": "0"], "--maximum-file must be a whole number from 1 to 1099511627776; it is '0'."),
            (["maximum-file": "50MB"], "--maximum-file must be a whole number from 1 to 1099511627776; it is '50MB'."),
            (
                ["file-types": ""],
                "--file-types must be media types and ranges separated by commas, such as image/*,application/pdf; it is ''."
            ),
            (
                ["thumbnail-sizes": "100x100,5000x1"],
                "--thumbnail-sizes must be up to 16 sizes of at most 4096 pixels, separated by commas, such as "
                    + "100x100,400x400f,400x0, or off; it is '100x100,5000x1'."
            ),
            (["file-grace": "59m"], "--file-grace must be a duration from 1h to 365d, such as 1d; it is '59m'."),
            (["file-time": "0s"], "--file-time must be a duration from 1m to 1d, such as 1h; it is '0s'."),
            (
                ["file-grace": "2h", "file-time": "2h"],
                "file-grace must be longer than file-time: what is left of an upload after file-grace is deleted."
            ),
        ] as [([String: String], String)]
    )
    func whatCannotWorkIsRefused(_ flags: [String: String], _ sentence: String) {
        let error = #expect(throws: ToolError.self) { try load(flags) }
        #expect(error?.description == sentence)
    }

    @Test(
        arguments: [
            ("100x100", ["100x100"]), ("off", []), ("400x0,0x400,1x4096f", ["400x0", "0x400", "1x4096f"]),
        ] as [(String, [String])]
    )
    func theSizesOfThumbnailsAreRead(_ text: String, _ sizes: [String]) throws {
        #expect(try load(["thumbnail-sizes": text]).files.thumbnailSizes.map(\.description) == sizes)
    }

    @Test func thumbnailsHaveTwoSizesByDefault() throws {
        #expect(try load([:]).files.thumbnailSizes.map(\.description) == ["100x100", "400x400f"])
        let many = Array(repeating: "1x1", count: 17).joined(separator: ",")
        #expect(throws: ToolError.self) { try load(["thumbnail-sizes": many]) }
    }

    @Test(arguments: ["short", "fifteen-letters", "a secret with spaces"])
    func aWrongSecretIsNotRepeated(_ secret: String) {
        let error = #expect(throws: ToolError.self) { try load([:], secret: secret) }
        #expect(
            error
                == .configuration(
                    "SKYROW_FILE_SECRET must be at least 16 characters, all of them visible ASCII."
                )
        )
    }
}
