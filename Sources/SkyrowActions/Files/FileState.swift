package import SkyrowModel
import SkyrowStore
import Synchronization

/// What an application keeps in memory for its files.
final class FileState: Sendable {
    let configuration: FileConfiguration
    let links = FileLinks()
    private let cache: FileCache
    /// As of the last hour.
    let totals = Mutex(AssetTotals())
    /// nil if the storage has no place for thumbnails.
    let thumbnails: ThumbnailState?
    /// The requests of uploads that may be interrupted.
    let line = UploadLine()
    private let places = Mutex(FilePlaces(limit: FilePlaces.uploads))
    private let ending = Mutex<Set<AssetName>>([])

    /// - Parameter cache: that of all applications of the process.
    init(_ configuration: FileConfiguration, _ cache: FileCache, now: @escaping @Sendable () -> Timestamp) {
        self.configuration = configuration
        self.cache = cache
        thumbnails = configuration.thumbnails.flatMap { thumbnails in
            configuration.storage.thumbnails.map { ThumbnailState(thumbnails, in: $0) }
        }
        if let secret = configuration.secret { _ = links.begin(FileSigner(key: secret, configuration, now: now)) }
    }

    deinit {
        cache.removeAll(of: ObjectIdentifier(self))
    }

    // MARK: Cached files

    /// Returns when a row that is read from now on was read.
    func moment(at now: ContinuousClock.Instant) -> MomentOfLoading { cache.moment(at: now) }

    /// Returns a stored file whose row need not be read.
    func file(_ name: AssetName, at now: ContinuousClock.Instant) -> CachedFile? {
        cache.file(name, of: self, at: now)
    }

    /// Returns the stored file of a row that was read.
    func file(_ asset: StoredAsset, readAt moment: MomentOfLoading) -> CachedFile {
        cache.file(asset, of: self, readAt: moment)
    }

    /// Closes the open files, and has all rows be read again.
    func forget() {
        cache.removeAll(of: ObjectIdentifier(self))
    }

    /// Closes the files that no download has used for a while.
    func forgetUnused(at now: ContinuousClock.Instant) {
        cache.removeUnused(at: now)
    }

    // MARK: Uploads

    /// Takes a place for an upload, which ``leave(_:)`` returns; throws `131 RateLimited` without one.
    ///
    /// - Parameter holder: nil for the operator, who needs none.
    func enter(_ holder: FilePlaces.Holder?) throws(SkyrowError) {
        guard let holder else { return }
        guard places.withLock({ $0.enter(holder) }) else { throw .tooManyUploads }
    }

    func leave(_ holder: FilePlaces.Holder?) {
        guard let holder else { return }
        places.withLock { $0.leave(holder) }
    }

    var isUnused: Bool { line.isUnused && places.withLock { $0.isUnused } }

    /// Claims the end of the upload of a file until ``release(_:)``; false while another upload of it ends.
    ///
    /// The second one would otherwise replace the bytes of a stored file.
    func claim(_ name: AssetName) -> Bool { ending.withLock { $0.insert(name).inserted } }

    func release(_ name: AssetName) {
        ending.withLock { _ = $0.remove(name) }
    }
}

/// The signer of an application's addresses, as soon as its key is known.
final class FileLinks: Sendable {
    private let signer = SharedReference<FileSigner>()

    var current: FileSigner? { signer.load() }

    /// Sets the signer unless another one is set, and returns the one that is in use.
    func begin(_ signer: FileSigner) -> FileSigner { self.signer.storeIfNil(signer) }
}

extension ActionService {
    /// Makes the addresses of files in results; nil without a storage for files, and until ``prepareFiles()`` has succeeded.
    package var links: (any AssetLinks)? { files?.links.current }

    /// Upper bound on the bytes of a file; 0 without a storage for files.
    package var maximumFile: Int { files.map { Int(clamping: $0.configuration.maximum) } ?? 0 }

    /// Whether files have no addresses yet.
    var lacksLinks: Bool { files.map { $0.links.current == nil } ?? false }

    /// Reads the key that signs addresses, if there are files; what fails is tried again with the next request.
    func prepareFiles() async {
        guard files != nil else { return }
        _ = try? await fileSigner()
    }

    /// Throws `111 NotSupported` without a storage for files.
    func fileSigner() async throws(SkyrowError) -> FileSigner {
        let files = try requiredFiles
        if let signer = files.links.current { return signer }
        let key = try await store.fileKey()
        return files.links.begin(FileSigner(key: key, files.configuration, now: clock.now))
    }

    /// Throws `111 NotSupported` without a storage for files.
    var requiredFiles: FileState {
        get throws(SkyrowError) {
            guard let files else { throw SkyrowError(.notSupported, "This service stores no files.") }
            return files
        }
    }

    /// Does something with the storage; throws `135 Overloaded` for a fault, which is observed.
    func storing<Success>(
        _ body: () async throws(FileFault) -> Success
    ) async throws(SkyrowError) -> Success {
        do throws(FileFault) {
            return try await body()
        } catch {
            // A request whose client has left ends its transfers.
            if !Task.isCancelled { observe(.fileStorageFailed(error.reason)) }
            throw SkyrowError(error)
        }
    }
}

extension FileFault {
    /// A clause for the log.
    var reason: String {
        switch self {
        case .noSpace: "the storage is full"
        case .unavailable(let reason): reason
        }
    }
}

extension SkyrowError {
    private static let storageKey = "storage"

    fileprivate init(_ fault: FileFault) {
        switch fault {
        case .noSpace:
            self.init(
                .overloaded,
                "The storage for files is full; the file was not stored.",
                info: [Self.storageKey: .string("full")]
            )
        case .unavailable:
            self.init(.overloaded, "The storage for files is not available; try again in a moment.")
        }
    }

    /// Whether the storage for files is full, for which HTTP has the status 507.
    package var isStorageFull: Bool { code == .overloaded && info[Self.storageKey] == .string("full") }

    fileprivate static let tooManyUploads = SkyrowError(
        .rateLimited,
        "At most \(FilePlaces.uploads) uploads can be in progress at once; finish one first.",
        info: ["retry_after": .integer(1)]
    )
}
