package import SkyrowModel

/// The files of an application: where they are, who uploads them, and where clients download them.
package struct FileConfiguration: Sendable {
    package static let defaultMaximum: Int64 = 50 << 20
    package static let defaultQuota: Int64 = 1 << 30
    package static let defaultFreeSpace: Int64 = 1 << 30

    package var storage: any FileStorage
    /// What precedes the names in addresses, without a slash at its end: `https://example.com/files`.
    package var urlPrefix: String
    /// How long an address is valid at least.
    package var urlLifetime: Duration
    /// The key that signs addresses; nil for one that is derived from the secret of the application.
    package var secret: [UInt8]?
    package var uploads: UploadAudience
    /// Upper bound on the bytes of a file.
    package var maximum: Int64
    /// Upper bound on the bytes of all files of a user, announced ones included; 0 for none.
    package var quota: Int64
    /// The bytes that uploads leave free in the storage; 0 for none.
    package var freeSpace: Int64
    /// The media types of files that are accepted.
    package var types: FileTypes
    /// How long a file is kept after nothing refers to it any more.
    package var grace: Duration
    /// How long an upload may take.
    package var time: Duration
    /// nil: there are no thumbnails.
    package var thumbnails: ThumbnailConfiguration?
    /// The application, which addresses name unless it is the default one.
    package var application: ApplicationName

    package init(
        storage: any FileStorage,
        urlPrefix: String,
        urlLifetime: Duration = .seconds(15 * 60),
        secret: [UInt8]? = nil,
        uploads: UploadAudience = .user,
        maximum: Int64 = defaultMaximum,
        quota: Int64 = defaultQuota,
        freeSpace: Int64 = defaultFreeSpace,
        types: FileTypes = .every,
        grace: Duration = .seconds(24 * 3600),
        time: Duration = .seconds(3600),
        thumbnails: ThumbnailConfiguration? = nil,
        application: ApplicationName = .default
    ) {
        self.storage = storage
        self.urlPrefix = urlPrefix
        self.urlLifetime = urlLifetime
        self.secret = secret
        self.uploads = uploads
        self.maximum = maximum
        self.quota = quota
        self.freeSpace = freeSpace
        self.types = types
        self.grace = grace
        self.time = time
        self.thumbnails = thumbnails
        self.application = application
    }

    /// Throws ``FileFault/noSpace`` if the storage would have less than ``freeSpace`` left after `size` more bytes.
    func requireSpace(for size: Int64) async throws(FileFault) {
        guard freeSpace > 0, let free = try await storage.freeSpace() else { return }
        guard free - size >= freeSpace else { throw .noSpace }
    }
}

/// Who uploads files, besides the master key.
package enum UploadAudience: String, Hashable, Sendable, CaseIterable {
    /// Users.
    case user
    /// All who have an API key, as in Skygear.
    case key
    /// Users with an administrator's role.
    case administrator

    /// Returns why a caller may not upload files; nil if the caller may.
    func refusal(of caller: Caller) -> SkyrowError? {
        if caller.isMaster { return nil }
        switch self {
        case .key:
            return nil
        case .user:
            return caller.userID == nil ? CredentialCheck.userMissing : nil
        case .administrator:
            if caller.userID == nil { return CredentialCheck.administratorMissing }
            return caller.isAdministrator ? nil : CredentialCheck.administratorNeeded
        }
    }
}
