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
    /// The receiver closes it.
    package let file: OpenedFile
    package let cache: DownloadCache
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
    /// Throws errors of credentials and signatures, the same `110 ResourceNotFound` for a file that does not exist and one that
    /// the caller may not read, `111 NotSupported`, `131 RateLimited` and `135 Overloaded`, and for a thumbnail also those of
    /// ``thumbnail(_:of:)``.
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
            let (found, cache) =
                switch source {
                case .file(let name, let signature?): try await signed(name, signature, from: sender)
                case .file(let name, nil): try await readable(name, from: sender, id: id)
                case .field(let field): try await readable(field, from: sender, id: id)
                }
            guard var found = try await confirmed(found) else { throw .fileNotFound }
            let opened: OpenedFile?
            if let thumbnail {
                opened = try await self.thumbnail(thumbnail, of: found)
                // A thumbnail has the format of the image, whatever the uploader declared.
                found.contentType = found.sniffed ?? found.contentType
            } else {
                opened = try await storing { () async throws(FileFault) in
                    try await files.configuration.storage.open(found.name)
                }
            }
            guard let opened else {
                observe(.fileMissing(id: String(found.name.id)))
                throw .fileNotFound
            }
            observe(.fileTransferred(.download, nil))
            return Download(asset: found, thumbnail: thumbnail, file: opened, cache: cache)
        } catch {
            observe(.fileTransferred(.download, error.code))
            throw error.reported(as: id)
        }
    }

    /// Counts the bytes of files that were sent.
    package func noteFileSent(_ bytes: Int64) {
        observe(.fileBytes(.download, bytes))
    }

    private func signed(
        _ name: AssetName,
        _ signature: FileSignature,
        from sender: Sender
    ) async throws(SkyrowError) -> (StoredAsset?, DownloadCache) {
        try admit(sender.credentials, from: sender.client)
        // Before anything is looked up, so that a wrong signature does not show whether the file exists.
        let rest = try await fileSigner().verify(signature, of: name)
        return (try await store.assets.asset(name), .privately(seconds: Int(rest)))
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
