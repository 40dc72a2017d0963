package import SkyrowActions
import SkyrowJSON
package import SkyrowModel
package import SkyrowRemote
package import SkyrowSystem

/// Settings of files.
package final class FileSettings: SettingGroup {
    package static let title = "Files"

    package init() {}

    package enum Storage: String, CaseIterable, Sendable {
        case local, s3, off
    }

    package enum Delivery: String, CaseIterable, Sendable {
        case stream, redirect
    }

    package let storage = Setting.choice(
        "files",
        Storage.local,
        of: "where",
        mustBe: "local, s3 or off",
        """
        Where the bytes of files are: in a directory (`local`), in a bucket of an S3-compatible store (`s3`), or nowhere (`off`), \
        which refuses uploads and downloads.
        """
    ).ofApplications

    package let directory = Setting<String?>(
        "file-directory",
        nil,
        shown: "",
        .directory,
        mustBe: "the path of a directory",
        """
        The directory of files, with a directory for each application; by default `files` in `data-directory`. All processes \
        that serve an application must share it, and no other service may use it. With `files` `s3` uploads are written to it \
        before they are sent to the bucket.
        """
    ) { text in
        text.isEmpty || text.utf8.contains(0) ? nil : .some(text)
    }

    package let secret = Setting<String?>.key(
        "file-secret",
        minimumLength: 16,
        """
        The secret that signs the addresses of files, for other programs that sign or verify addresses; by default it is \
        derived from a secret in the database. Each application has its own; this is that of the default one.
        """
    ).ofEachApplication

    package let urlPrefix = Setting<String?>(
        "file-url-prefix",
        nil,
        shown: "",
        .text("url"),
        mustBe: "https://host, with an optional port and path, or http:// for development",
        """
        What precedes the names of files in their addresses; by default `public-url` and `/files`, or the address that the \
        service listens on.
        """
    ) { text in
        PublicURL.read(text).map { .some($0) }
    }.ofApplications

    package let urlLifetime = Setting.duration(
        "file-url-lifetime",
        .seconds(15 * 60),
        in: .seconds(60)...(.seconds(7 * 86_400)),
        "How long the signed address of a file is valid, to within half of this time."
    ).ofApplications

    package let uploads = Setting.choice(
        "file-uploads",
        UploadAudience.user,
        of: "who",
        mustBe: "user, key or administrator",
        "Who may upload files: each logged-in `user`, everyone with the API `key`, or an `administrator`; the master key always."
    ).ofApplications

    package let maximum = Setting.integer(
        "maximum-file",
        50 << 20,
        in: 1...1 << 40,
        unit: "bytes",
        "The maximum size of a file, in bytes; `maximum-body` does not apply to uploads."
    ).ofApplications

    package let quota = Setting.integer(
        "file-quota",
        1 << 30,
        in: 0...1 << 50,
        unit: "bytes",
        """
        The maximum size of all files of a user together, in bytes, with those that are announced; 0: no maximum. It does not \
        apply to uploads with the master key, nor to files without an owner.
        """
    ).ofApplications

    package let freeSpace = Setting.integer(
        "file-free-space",
        1 << 30,
        in: 0...1 << 50,
        unit: "bytes",
        "The bytes that uploads leave free on the disk of `file-directory`, so that PostgreSQL can still write; 0: none."
    )

    package let types = Setting(
        "file-types",
        FileTypes.every,
        shown: FileTypes.every.description,
        .text("types"),
        mustBe: "media types and ranges separated by commas, such as image/*,application/pdf",
        "The media types that uploaded files may have; the content decides where it shows the type."
    ) {
        FileTypes($0)
    }.ofApplications

    package let grace = Setting.duration(
        "file-grace",
        .seconds(86_400),
        in: .seconds(3600)...(.seconds(365 * 86_400)),
        "How long a file is kept that no record refers to, and how long an upload may be announced or unfinished."
    ).ofApplications

    package let time = Setting.duration(
        "file-time",
        .seconds(3600),
        in: .seconds(60)...(.seconds(86_400)),
        "From the head of an upload to its end; `body-timeout` does not apply to uploads."
    ).ofApplications

    package let thumbnailSizes = Setting<[ThumbnailSize]>(
        "thumbnail-sizes",
        [.fill(width: 100, height: 100), .fit(width: 400, height: 400)],
        shown: "100x100,400x400f",
        .text("sizes"),
        mustBe: "up to 16 sizes of at most 4096 pixels, separated by commas, such as 100x100,400x400f,400x0, or off",
        """
        The sizes of thumbnails that a request may have made: `100x100` fills it with the centre of the image, `100x100f` fits the \
        image in, and `100x0` and `0x100` have only a width or a height.
        """
    ) { text in
        if text == "off" { return [] }
        return text.list { ThumbnailSize($0) }.flatMap { $0.count <= 16 ? $0 : nil }
    }.ofApplications

    package let delivery = Setting.choice(
        "file-delivery",
        Delivery.stream,
        of: "how",
        "With a bucket: whether the service passes downloads on (`stream`), or redirects clients to the bucket (`redirect`)."
    )

    package let isDirect = Setting.flag(
        "file-direct",
        false,
        "With a bucket: whether clients upload the files of `asset:put` to the bucket."
    )

    package let s3Endpoint = Setting<String?>(
        "s3-endpoint",
        nil,
        shown: "",
        .text("url"),
        mustBe: "https:// or http:// with a host and an optional port, such as https://s3.eu-central-1.amazonaws.com",
        "The address of the S3-compatible store; by default that of Amazon S3 in `s3-region`."
    ) { text in
        S3Endpoint(text) == nil ? nil : .some(text)
    }

    package let s3Region = Setting(
        "s3-region",
        "us-east-1",
        shown: "us-east-1",
        .text("region"),
        mustBe: "1 to 64 letters, digits and hyphens",
        "The region of the bucket."
    ) { text in
        let isPlain = text.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
        return isPlain && (1...64).contains(text.utf8.count) ? text : nil
    }

    package let s3Bucket = Setting<String?>(
        "s3-bucket",
        nil,
        shown: "",
        .text("name"),
        mustBe: "3 to 63 lowercase letters, digits, dots and hyphens",
        "The bucket with the files of all applications, each under its name; required with `files` `s3`."
    ) { text in
        S3Bucket.isName(text) ? .some(text) : nil
    }

    package let s3AccessKey = Setting<String?>.key(
        "s3-access-key",
        minimumLength: 1,
        "The id of the access key for the bucket; required with `files` `s3`."
    )

    package let s3SecretKey = Setting<String?>.key(
        "s3-secret-key",
        minimumLength: 1,
        "The secret of the access key for the bucket; required with `files` `s3`."
    )

    package let usesPathStyle = Setting.flag(
        "s3-path-style",
        false,
        "Whether the name of the bucket is in the path of addresses, as MinIO and Ceph have it, and not before the host."
    )

    package static func check(_ settings: SettingValues<FileSettings>) throws(ToolError) {
        if settings.storage == .s3 {
            for (name, value) in [
                ("s3-bucket", settings.s3Bucket), ("s3-access-key", settings.s3AccessKey),
                ("s3-secret-key", settings.s3SecretKey),
            ] where value == nil { throw .configuration("With files s3, \(name) is required.") }
        }
        guard settings.grace > settings.time else {
            throw .configuration(
                "file-grace must be longer than file-time: what is left of an upload after file-grace is deleted."
            )
        }
    }
}

extension Settings {
    /// The directory of the files of all applications.
    package var fileDirectory: String {
        self.files.directory ?? "\(self.database.dataDirectory)/files"
    }

    /// Returns what precedes `/<name>` in the addresses of files.
    ///
    /// - Parameter port: The port that the service listens on, even if the setting is 0.
    package func fileURLPrefix(port: Int) -> String {
        self.files.urlPrefix ?? "\(self.mail.publicURL ?? self.listeningURL(port: port))/files"
    }

    /// Opens the storage of an application's files, and makes its directories; nil if it has no files.
    ///
    /// Throws ``ToolError`` if the directories cannot be made or used.
    ///
    /// - Parameter observe: Called after each request to a bucket.
    package func fileStorage(
        of application: ApplicationName,
        observe: @escaping @Sendable (S3Operation, S3Failure.Kind?) -> Void = { _, _ in }
    ) async throws(ToolError) -> (any FileStorage)? {
        guard self.files.storage != .off else { return nil }
        let local = try await LocalFileStorage(in: self.fileDirectory, of: application)
        guard let bucket = try bucketStorage(of: application, spoolingIn: local, observe: observe) else { return local }
        return bucket
    }

    /// Returns the storage of files in a bucket; nil if they are in a directory.
    package func bucketStorage(
        of application: ApplicationName,
        spoolingIn local: LocalFileStorage,
        observe: @escaping @Sendable (S3Operation, S3Failure.Kind?) -> Void = { _, _ in }
    ) throws(ToolError) -> S3FileStorage? {
        let files = self.files
        guard files.storage == .s3 else { return nil }
        guard
            let bucket = S3Bucket(
                files.s3Bucket ?? "",
                at: files.s3Endpoint ?? "https://s3.\(files.s3Region).amazonaws.com",
                region: files.s3Region,
                accessKey: files.s3AccessKey ?? "",
                secretKey: files.s3SecretKey ?? "",
                usesPathStyle: files.usesPathStyle
            )
        else { throw .configuration("With files s3, s3-bucket is required.") }
        let options = S3FileStorage.Options(redirects: files.delivery == .redirect, takesForms: files.isDirect)
        do throws(S3Failure) {
            let client = try S3Client(bucket, now: ServiceClock.system.now, observe: observe)
            return S3FileStorage(client, of: application, spoolingIn: local, options)
        } catch {
            throw .failure(error.description)
        }
    }

    /// Returns the configuration of an application's files; nil if it has none.
    ///
    /// Throws ``ToolError`` if the directories cannot be made or used.
    package func fileConfiguration(
        of application: ApplicationName,
        port: Int,
        observe: @escaping @Sendable (S3Operation, S3Failure.Kind?) -> Void = { _, _ in }
    ) async throws(ToolError) -> FileConfiguration? {
        guard let storage = try await fileStorage(of: application, observe: observe) else { return nil }
        let files = self.files
        return FileConfiguration(
            storage: storage,
            urlPrefix: fileURLPrefix(port: port),
            urlLifetime: files.urlLifetime,
            secret: files.secret.map { Array($0.utf8) },
            uploads: files.uploads,
            maximum: Int64(files.maximum),
            quota: Int64(files.quota),
            freeSpace: Int64(files.freeSpace),
            types: files.types,
            grace: files.grace,
            time: files.time,
            thumbnails: files.thumbnailSizes.isEmpty ? nil : .withVips(sizes: files.thumbnailSizes),
            application: application
        )
    }

    /// The values of settings that follow from others unless they are given, by name.
    package var derivedDefaults: [String: String] {
        var defaults = ["file-directory": self.fileDirectory]
        // The system chooses port 0 at the start.
        if self.mail.publicURL != nil || self.listening.port != 0 {
            defaults["file-url-prefix"] = fileURLPrefix(port: self.listening.port)
        }
        return defaults
    }
}
