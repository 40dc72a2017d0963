package import SkyrowModel

/// The configuration of an application's files.
package struct FileConfiguration: Sendable {
    package var storage: any FileStorage
    /// What precedes `/<name>` in the addresses of files, such as `https://api.example.org/files`.
    package var urlPrefix: String
    /// How long a signed address is valid.
    package var urlLifetime: Duration
    /// The secret that signs addresses; nil for one that is derived from a secret of the database.
    package var secret: [UInt8]?
    package var uploads: UploadAudience
    /// Upper bound on the size of a file, in bytes.
    package var maximum: Int64
    /// The media types that files may have.
    package var types: FileTypes
    /// How long a file stays after nothing refers to it, and how long an upload may be unfinished.
    package var grace: Duration
    /// How long an upload may take.
    package var time: Duration
    package var application: ApplicationName

    package init(
        storage: any FileStorage,
        urlPrefix: String,
        urlLifetime: Duration,
        secret: [UInt8]?,
        uploads: UploadAudience,
        maximum: Int64,
        types: FileTypes,
        grace: Duration,
        time: Duration,
        application: ApplicationName
    ) {
        self.storage = storage
        self.urlPrefix = urlPrefix
        self.urlLifetime = urlLifetime
        self.secret = secret
        self.uploads = uploads
        self.maximum = maximum
        self.types = types
        self.grace = grace
        self.time = time
        self.application = application
    }
}

/// Who may upload files.
package enum UploadAudience: String, CaseIterable, Sendable {
    /// Users who are logged in, and the master key.
    case user
    /// Everyone with a key.
    case key
    /// Administrators and the master key.
    case administrator
}
