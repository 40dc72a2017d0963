import SkyrowConcurrency
import SkyrowModel
import SkyrowStore
import Synchronization

/// What an application keeps in memory for its thumbnails.
final class ThumbnailState: Sendable {
    let configuration: ThumbnailConfiguration
    let storage: any ThumbnailStorage
    /// The thumbnails that are being made.
    let work = SharedWork<Thumbnail, Result<OpenedFile, SkyrowError>>()
    private let failures = Mutex(ThumbnailFailures())
    private let places = Mutex(FilePlaces(limit: ThumbnailConfiguration.share))

    init(_ configuration: ThumbnailConfiguration, in storage: any ThumbnailStorage) {
        self.configuration = configuration
        self.storage = storage
    }

    /// Runs `body` while the client has a place; throws `131 RateLimited` if it has as many as one client gets.
    func waiting<Success>(
        _ client: ClientKey,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        guard places.withLock({ $0.enter(.client(client)) }) else { throw .tooManyThumbnails }
        defer { places.withLock { $0.leave(.client(client)) } }
        return try await body()
    }

    func hasFailed(_ name: AssetName, at now: ContinuousClock.Instant) -> Bool {
        failures.withLock { $0.contains(name, at: now) }
    }

    func noteFailure(_ name: AssetName, at now: ContinuousClock.Instant) {
        failures.withLock { $0.note(name, at: now) }
    }
}

extension ActionService {
    /// Upper bound on the pixels of an image that is decoded.
    static let maximumPixels = 50_000_000

    /// Opens a thumbnail of a file that the caller may read, which is made unless it is kept.
    ///
    /// Throws `108 InvalidArgument` for a size that the application does not offer and a file of which no thumbnail can be made, `110
    /// ResourceNotFound` if the file was deleted meanwhile, `111 NotSupported` if no thumbnails can be made here, `131 RateLimited`
    /// if too many requests of the client wait, and `135 Overloaded`, with the time after which a retry makes sense, if too many
    /// wait and once for an image that cannot be decoded.
    func thumbnail(
        _ size: ThumbnailSize,
        of asset: StoredAsset,
        for client: ClientKey
    ) async throws(SkyrowError) -> OpenedFile {
        guard let thumbnails = files?.thumbnails, thumbnails.configuration.sizes.contains(size) else {
            throw .thumbnailSize(files?.thumbnails?.configuration.sizes ?? [])
        }
        guard let format = asset.sniffed.flatMap({ ImageFormat(rawValue: $0) }), format.hasThumbnails else {
            throw .noThumbnail
        }
        let thumbnail = Thumbnail(of: asset.name, size)
        if let kept = try await kept(thumbnail, thumbnails) { return kept }
        guard !thumbnails.hasFailed(asset.name, at: clock.instant()) else { throw .noThumbnail }
        return try await thumbnails.waiting(client) { () async throws(SkyrowError) in
            try await thumbnails.work.value(for: thumbnail, ifCancelled: .failure(.thumbnailCancelled)) { [self] in
                do throws(SkyrowError) {
                    return .success(try await admitted(thumbnail, format, thumbnails))
                } catch {
                    return .failure(error)
                }
            }.get()
        }
    }

    private func kept(_ thumbnail: Thumbnail, _ thumbnails: ThumbnailState) async throws(SkyrowError) -> OpenedFile? {
        try await storing { () async throws(FileFault) in try await thumbnails.storage.open(thumbnail) }
    }

    /// Makes a thumbnail when it is its turn.
    private func admitted(
        _ thumbnail: Thumbnail,
        _ format: ImageFormat,
        _ thumbnails: ThumbnailState
    ) async throws(SkyrowError) -> OpenedFile {
        do {
            return try await thumbnails.configuration.gate.pass {
                // It may have been made between the look of the request and its turn.
                if let kept = try await kept(thumbnail, thumbnails) { return kept }
                return try await make(thumbnail, format, thumbnails)
            }
        } catch let error as SkyrowError {
            throw error
        } catch is TaskGate.IsFull {
            throw .thumbnailsBusy
        } catch {
            throw .thumbnailCancelled
        }
    }

    private func make(
        _ thumbnail: Thumbnail,
        _ format: ImageFormat,
        _ thumbnails: ThumbnailState
    ) async throws(SkyrowError) -> OpenedFile {
        let name = thumbnail.asset
        let source = try await storing { () async throws(FileFault) -> ThumbnailSource? in
            guard let file = try await files?.configuration.storage.open(name) else { return nil }
            return try await thumbnails.storage.source(file)
        }
        guard let source else {
            observe(.fileMissing(id: String(name.id)))
            throw .fileNotFound
        }
        guard let header = ImageHeader(source.first), header.format == format,
            header.size.pixels <= Self.maximumPixels
        else {
            thumbnails.noteFailure(name, at: clock.instant())
            throw .noThumbnail
        }
        let begun = clock.instant()
        func noteEnd(_ outcome: ThumbnailOutcome) {
            observe(.thumbnailMade(outcome, clock.instant() - begun))
        }
        let made: OpenedFile
        do throws(ThumbnailFault) {
            made = try await thumbnails.storage.keep(thumbnail) { file throws(ThumbnailFault) in
                try await thumbnails.configuration.maker.make(thumbnail.size, format, of: source.file, to: file)
            }
            noteEnd(.made)
        } catch {
            switch error {
            case .notInstalled:
                throw .thumbnailsNotInstalled
            case .cancelled:
                noteEnd(.cancelled)
                throw .thumbnailCancelled
            case .undecodable(let reason):
                noteEnd(.failed)
                observe(.thumbnailFailed(id: String(name.id), reason))
                thumbnails.noteFailure(name, at: clock.instant())
                throw .thumbnailFailed
            case .unavailable(let fault):
                return try await storing { () async throws(FileFault) -> OpenedFile in throw fault }
            }
        }
        try await requireFile(of: thumbnail, thumbnails)
        return made
    }

    /// Deletes a thumbnail whose file was deleted while it was made: a file loses its row before its thumbnails.
    private func requireFile(of thumbnail: Thumbnail, _ thumbnails: ThumbnailState) async throws(SkyrowError) {
        guard try await store.assets.asset(thumbnail.asset)?.state != .stored else { return }
        try await storing { () async throws(FileFault) in try await thumbnails.storage.delete(of: thumbnail.asset) }
        throw .fileNotFound
    }
}

extension SkyrowError {
    /// - Parameter sizes: those that the application has.
    fileprivate static func thumbnailSize(_ sizes: [ThumbnailSize]) -> SkyrowError {
        let list = sizes.map(\.description).joined(separator: ", ")
        let message = sizes.isEmpty ? "This application has no thumbnails." : "\"thumb\" must be one of \(list)."
        return .invalidArgument(message, "thumb")
    }

    fileprivate static let noThumbnail = SkyrowError.invalidArgument(
        "No thumbnail can be made of this file: it must be an intact JPEG, PNG, WebP or GIF image of at most 50 megapixels.",
        "thumb"
    )
    fileprivate static let thumbnailsNotInstalled = SkyrowError(
        .notSupported,
        "This service makes no thumbnails: the program vipsthumbnail is not installed."
    )
    fileprivate static let thumbnailFailed = SkyrowError(
        .overloaded,
        "The thumbnail could not be made; try again in a moment.",
        info: ["retry_after": .integer(1)]
    )
    fileprivate static let tooManyThumbnails = SkyrowError(
        .rateLimited,
        "At most \(ThumbnailConfiguration.share) requests of a client can wait for thumbnails; try again in a moment.",
        info: ["retry_after": .integer(1)]
    )
    fileprivate static let thumbnailsBusy = SkyrowError(
        .overloaded,
        "Too many thumbnails are being made; try again in a moment.",
        info: ["retry_after": .integer(1)]
    )
    fileprivate static let thumbnailCancelled = SkyrowError(
        .responseTimeout,
        "The request was cancelled while the thumbnail was made."
    )
}
