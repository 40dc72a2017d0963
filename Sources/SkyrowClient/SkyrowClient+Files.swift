public import Foundation
public import SkyrowModel
public import SkyrowProtocol

// MARK: Uploads

extension SkyrowClient {
    /// Uploads bytes as a file, and returns the value that a record can have.
    ///
    /// ```swift
    /// let photo = try await client.upload(png, filename: "cat.png", contentType: "image/png")
    /// try await client.publicDatabase.save(RecordDraft("note/1", ["photo": .asset(photo)]))
    /// ```
    ///
    /// Save a record that refers to the file within a day: the service deletes files that no record refers to. An upload that
    /// has no response is repeated, and its first file is then deleted in the same way.
    ///
    /// - Parameters:
    ///   - data: the bytes of the file.
    ///   - filename: the name with which others download the file.
    ///   - contentType: the media type; nil if the service shall find it out.
    ///   - progress: takes the number of bytes that have been sent, on any thread.
    public func upload(
        _ data: Data,
        filename: String,
        contentType: String? = nil,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(ClientError) -> Asset {
        try await upload(LocalFile(data, filename: filename, contentType: contentType), progress: progress)
    }

    /// Uploads a file from disk, which is never in memory as a whole, and returns the value that a record can have.
    ///
    /// Throws `ClientError` with the code `localFile` when it cannot be read.
    ///
    /// - Parameters:
    ///   - file: the path of the file.
    ///   - filename: the name with which others download the file; nil for the one that it has.
    ///   - contentType: the media type; nil if the service shall find it out.
    ///   - progress: takes the number of bytes that have been sent, on any thread.
    public func upload(
        contentsOf file: URL,
        filename: String? = nil,
        contentType: String? = nil,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(ClientError) -> Asset {
        try await upload(LocalFile(contentsOf: file, filename: filename, contentType: contentType), progress: progress)
    }

    /// Uploads a file, unless the logged-in user has already done so with this object.
    public func upload(
        _ file: LocalFile,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(ClientError) -> Asset {
        let total = try file.content.size()
        if let asset = file.asset(of: currentUserID) {
            progress?(FileProgress(completed: total, total: total))
            return asset
        }
        let (url, type) = (try uploadURL(file.filename), file.contentType ?? "application/octet-stream")
        guard type.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw .refused(.invalidArgument("The content type must be a media type.", "contentType"))
        }
        // A second upload is safe: the service deletes a file that no record refers to.
        let result = try await attempt(.safe, needsSession: true) {
            session throws(ClientError) -> Result<Asset, ClientError> in
            let headers = [(name: "Content-Type", value: type), (name: "Accept", value: "application/json")]
            let upload = TransportUpload(
                url: url,
                headers: headers + credentials(of: session),
                content: file.content,
                progress: { sent in progress?(FileProgress(completed: sent, total: total)) }
            )
            let response = try await exchange { try await transport.upload(upload) }
            keepRenewedToken(of: response.headers, for: session)
            // The disk of the service is full, and sending the file again does not help.
            if response.status == 507 { return .failure(FileResponse.error(of: response)) }
            let asset = try FileResponse.asset(of: response)
            file.keep(asset, of: session?.userID)
            return .success(asset)
        }
        return try result.get()
    }

    private func uploadURL(_ filename: String) throws(ClientError) -> URL {
        let query = filename.addingPercentEncoding(withAllowedCharacters: .unreserved)
        var components = URLComponents(url: filesURL, resolvingAgainstBaseURL: true)
        components?.percentEncodedQuery = query.map { "filename=\($0)" }
        guard let url = components?.url else {
            throw .refused(.invalidArgument("The file name cannot be sent.", "filename"))
        }
        return url
    }
}

// MARK: Actions

extension SkyrowClient {
    /// Announces a file that a form or another program uploads; ``upload(contentsOf:filename:contentType:progress:)`` needs no
    /// announcement.
    ///
    /// - Parameters:
    ///   - filename: the name with which others download the file.
    ///   - contentType: the media type, such as `image/png`.
    ///   - size: the number of bytes.
    public func announceFile(
        _ filename: String,
        contentType: String,
        size: Int
    ) async throws(ClientError) -> AnnouncedFile {
        try await call(Actions.assetPut, FileAnnouncement(filename: filename, contentType: contentType, size: size))
    }

    /// Deletes files that the user uploaded and that no record refers to, all or none, and returns their number.
    ///
    /// - Parameters:
    ///   - names: the files.
    ///   - forces: whether fields that refer to the files lose their values; requires the master key.
    @discardableResult
    public func deleteFiles(_ names: [AssetName], forces: Bool = false) async throws(ClientError) -> Int {
        try await call(Actions.fileDelete, FileDeletion(names: names, forces: forces))
    }

    /// Deletes the files that nothing has referred to for a time, which a setting of the service says, or only counts them;
    /// requires the master key.
    @discardableResult
    public func collectFiles(isDryRun: Bool = false) async throws(ClientError) -> FileCollection {
        try await call(Actions.fileCollect, isDryRun)
    }
}

// MARK: Downloads

extension SkyrowClient {
    /// Downloads a file to disk, in place of a file that is there.
    ///
    /// ```swift
    /// if let photo = note["photo"]?.assetValue {
    ///     try await client.download(photo, to: directory.appendingPathComponent("photo.png"))
    /// }
    /// ```
    ///
    /// The bytes are first in `<name of the asset>.part` beside the destination. A download that was interrupted, by an error or
    /// by the end of the process, continues there when it is called again.
    ///
    /// A file in a field of a record that the user may read needs only its name, `Asset(name)`. One inside a JSON value needs an
    /// address from ``RecordDatabase/signFiles(_:in:)``.
    ///
    /// Throws `110 ResourceNotFound` also when the user may not read the file, and `ClientError` with the code `localFile` when
    /// it cannot be written.
    ///
    /// - Parameters:
    ///   - asset: the file, as a record has it.
    ///   - destination: where the file is saved; one that exists there is replaced.
    ///   - progress: takes the number of bytes that have been received, on any thread.
    public func download(
        _ asset: Asset,
        to destination: URL,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(ClientError) {
        let file = try PartialFile(of: asset.name, for: destination)
        defer { file.close() }
        let plan = DownloadPlan(of: asset.name, received: file.received)
        try await run(FileDownload(plan, into: file, progress: progress), asset)
        try file.move(to: destination)
    }

    /// Downloads a file, or a part of it, into memory.
    ///
    /// ```swift
    /// let image = UIImage(data: try await client.download(photo))
    /// ```
    ///
    /// Throws `ClientError` with the code `tooLarge` when there are more bytes than `limit`, and `110 ResourceNotFound` also when
    /// the user may not read the file.
    ///
    /// - Parameters:
    ///   - asset: the file, as a record has it.
    ///   - range: the bytes; nil for the whole file. It may end behind the file, and must begin in it.
    ///   - limit: upper bound on the bytes.
    ///   - progress: takes the number of bytes that have been received, on any thread.
    public func download(
        _ asset: Asset,
        range: Range<Int64>? = nil,
        atMost limit: Int = 64 << 20,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(ClientError) -> Data {
        let target = MemoryTarget(limit: limit)
        try await run(FileDownload(DownloadPlan(of: asset.name, range: range), into: target, progress: progress), asset)
        return target.data
    }

    private func run(_ download: FileDownload, _ asset: Asset) async throws(ClientError) {
        var signed = asset.url.flatMap { URL(string: $0) }
        if !["http", "https"].contains(signed?.scheme?.lowercased()) { signed = nil }
        while !download.isComplete {
            do throws(ClientError) {
                try await part(of: download, at: signed, asset.name)
            } catch {
                guard signed != nil, [.refused, .noResponse, .invalidResponse].contains(error.code) else { throw error }
                // The address has expired, or is not reachable from here: the service itself judges the caller.
                signed = nil
            }
        }
    }

    /// - Parameter signed: an address that needs no credentials, and must not get any.
    private func part(of download: FileDownload, at signed: URL?, _ name: AssetName) async throws(ClientError) {
        try await attempt(.safe, needsSession: signed == nil) { session throws(ClientError) in
            // A compressed response would have other ranges.
            let headers = [(name: "Accept-Encoding", value: "identity")]
            let request = download.nextRequest(
                to: signed ?? filesURL.appendingPathComponent(name.rawValue),
                signed == nil ? headers + credentials(of: session) : headers
            )
            let response = try await exchange { try await transport.download(request) }
            if signed == nil { keepRenewedToken(of: response.headers, for: session) }
            try download.finish(response)
        }
    }

    private var filesURL: URL { endpoint.appendingPathComponent("files") }

    private func exchange(_ send: () async throws -> TransportResponse) async throws(ClientError) -> TransportResponse {
        do {
            return try await send()
        } catch let error as ClientError {
            throw error
        } catch {
            throw noResponse(error)
        }
    }
}

extension CharacterSet {
    /// The characters that stand for themselves in every part of an address.
    fileprivate static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )
}
