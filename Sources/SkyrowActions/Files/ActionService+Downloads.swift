package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

/// The file that a download is of.
package enum DownloadSource: Sendable {
    /// The file of a name, with the signature of its address if the address has one.
    case file(AssetName, FileSignature?)
    /// The file in a field of a record.
    case field(FileField)
}

/// How long a response may be used again.
package enum DownloadCache: Hashable, Sendable {
    /// Only by the client itself.
    case privately(seconds: Int)
    case publicly(seconds: Int)
}

/// A file that a request may read.
package struct Download: Sendable {
    /// The file; with a thumbnail, the type is that of the thumbnail.
    package let asset: StoredAsset
    /// nil for the file itself.
    package let thumbnail: ThumbnailSize?
    package let file: OpenedFile
    package let cache: DownloadCache
    /// The fields of a response that does not force a browser to save the file.
    private let shown: ServedFile

    fileprivate init(_ file: CachedFile, _ opened: OpenedFile, _ cache: DownloadCache) {
        (asset, thumbnail, shown) = (file.asset, nil, file.served)
        (self.file, self.cache) = (opened, cache)
    }

    fileprivate init(_ thumbnail: ThumbnailSize, of asset: StoredAsset, _ opened: OpenedFile, _ cache: DownloadCache) {
        var asset = asset
        // A thumbnail has the format of the image, which may differ from what the uploader declared.
        asset.contentType = asset.sniffed ?? asset.contentType
        (self.asset, self.thumbnail, shown) = (asset, thumbnail, ServedFile(of: asset, forcesDownload: false))
        (file, self.cache) = (opened, cache)
    }

    /// Returns the fields of the response that depend on the file.
    ///
    /// - Parameter forcesDownload: whether a browser saves the file where it could show it.
    package func served(forcesDownload: Bool) -> ServedFile {
        forcesDownload ? ServedFile(of: asset, forcesDownload: true) : shown
    }
}

extension ActionService {
    /// How long a response may be used again that anybody may read, in seconds.
    private static let publicSeconds = 300

    /// Opens a file for a request.
    ///
    /// The signature of an address is enough for it. Without one, the caller must be the uploader or the master key, or read the
    /// file through a record; without any credentials everybody must be able to. The field of a record is read as by
    /// `record:fetch`.
    ///
    /// For a cached file nothing waits for a disk, and with a signature nothing for the database.
    ///
    /// Throws errors of credentials and signatures, the same `110 ResourceNotFound` for a file that does not exist and one that
    /// the caller may not read, `111 NotSupported`, `131 RateLimited` and `135 Overloaded`, and for a thumbnail also those of
    /// ``thumbnail(_:of:for:)``.
    ///
    /// - Parameter thumbnail: the size of the thumbnail that is sent instead of the file.
    package func download(
        _ source: DownloadSource,
        thumbnail: ThumbnailSize? = nil,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> Download {
        do throws(SkyrowError) {
            let files = try requiredFiles
            let (file, cache) = try await file(of: source, from: sender, id: id, in: files)
            let download: Download
            if let thumbnail {
                let opened = try await self.thumbnail(thumbnail, of: file.asset, for: sender.client)
                download = Download(thumbnail, of: file.asset, opened, cache)
            } else {
                download = Download(file, try await opened(file, in: files), cache)
            }
            observe(.fileTransferred(.download, nil))
            return download
        } catch {
            observe(.fileTransferred(.download, error.code))
            throw error.reported(as: id)
        }
    }

    /// Counts the bytes of files that were sent.
    package func noteFileSent(_ bytes: Int64) {
        observe(.fileBytes(.download, bytes))
    }

    /// Returns the open file, which it opens if it is not.
    private func opened(_ file: CachedFile, in files: FileState) async throws(SkyrowError) -> OpenedFile {
        if let opened = file.opened { return opened }
        let name = file.asset.name
        let opened = try await storing { () async throws(FileFault) in
            try await files.configuration.storage.open(name, readingUpTo: FileCache.maximumBytes)
        }
        guard let opened else {
            observe(.fileMissing(id: String(name.id)))
            throw .fileNotFound
        }
        file.keep(opened)
        return opened
    }

    private func file(
        of source: DownloadSource,
        from sender: Sender,
        id: RequestID,
        in files: FileState
    ) async throws(SkyrowError) -> (CachedFile, DownloadCache) {
        let now = clock.instant()
        // Taken before a statement is sent, so that its result is at least as new.
        let moment = files.moment(at: now)
        let (row, cache): (StoredAsset?, DownloadCache)
        switch source {
        case .file(let name, let signature?):
            try admit(sender.credentials, from: sender.client)
            // Before anything is looked up, so that a wrong signature does not show whether the file exists.
            let rest = try await fileSigner().verify(signature, of: name)
            cache = .privately(seconds: Int(rest))
            if let file = files.file(name, at: now) { return (file, cache) }
            row = try await store.assets.asset(name)
        case .file(let name, nil):
            (row, cache) = try await readable(name, from: sender, id: id)
        case .field(let field):
            (row, cache) = try await readable(field, from: sender, id: id)
        }
        guard let asset = try await confirmed(row) else { throw .fileNotFound }
        return (files.file(asset, readAt: moment), cache)
    }

    private func readable(
        _ name: AssetName,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> (StoredAsset?, DownloadCache) {
        let isAnonymous = sender.credentials.isEmpty
        let caller: Caller
        if isAnonymous {
            try admit(sender.credentials, from: sender.client)
            caller = .anonymous
        } else {
            caller = try await admitted(sender, for: Actions.recordFetch.description, id: id)
        }
        let turn = ReadTurn(of: sender.client, in: reads)
        if !caller.isOperator { try await turn.enter() }
        defer { turn.leave() }
        let found = try await store.assets.readable(name, by: caller)
        return (found, isAnonymous ? .publicly(seconds: Self.publicSeconds) : .privately(seconds: 0))
    }

    private func readable(
        _ field: FileField,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> (StoredAsset?, DownloadCache) {
        let caller = try await admitted(sender, for: Actions.recordFetch.description, id: id)
        let access = try recordAccess(to: field.database, for: .reading, by: caller)
        let turn = ReadTurn(of: sender.client, in: reads)
        if !caller.isOperator { try await turn.enter() }
        defer { turn.leave() }
        guard let file = try await file(in: field, with: access) else { throw .fileNotFound }
        return (try await store.assets.asset(file.name), .privately(seconds: 0))
    }
}
