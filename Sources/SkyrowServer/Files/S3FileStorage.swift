package import SkyrowActions
package import SkyrowModel
package import SkyrowRemote
import SkyrowSystem

/// Files in a bucket of an S3-compatible store, as objects `<application>/<name>`.
///
/// An upload is written to the directory of a ``LocalFileStorage`` first, and then to the bucket. Files that are in this directory
/// since the service had no bucket are still read, listed and deleted there.
package struct S3FileStorage: FileStorage, DirectUploads {
    /// What clients do themselves.
    package struct Options: Hashable, Sendable {
        /// Whether downloads are redirected to the bucket.
        package var redirects: Bool
        /// Whether clients upload announced files to the bucket.
        package var takesForms: Bool

        package init(redirects: Bool = false, takesForms: Bool = false) {
            self.redirects = redirects
            self.takesForms = takesForms
        }
    }

    package let kind = "s3"
    package var kinds: Set<String> { [kind, local.kind] }
    private let client: S3Client
    private let local: LocalFileStorage
    /// What precedes the names in keys: `app/`.
    private let prefix: String
    private let options: Options
    private let now: @Sendable () -> Timestamp

    /// Upper bound on the bytes of an upload in one request, and of a part of a larger one unless it had too many parts.
    static let partLength: Int64 = 16 << 20
    /// Upper bound on the parts of an upload.
    static let maximumParts: Int64 = 10_000
    /// How long a client may begin a redirected download, in seconds.
    static let redirectSeconds = 60

    package init(
        _ client: S3Client,
        of application: ApplicationName,
        spoolingIn local: LocalFileStorage,
        _ options: Options = Options(),
        now: @escaping @Sendable () -> Timestamp = ServiceClock.system.now
    ) {
        self.client = client
        self.local = local
        self.options = options
        self.now = now
        prefix = "\(application)/"
    }

    // MARK: - Uploads

    package func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        S3IncomingFile(try await local.incomingFile(hashesMD5: hashesMD5), in: self)
    }

    package func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        try await local.incomingFile(id, length: length).map { S3IncomingFile($0, in: self) }
    }

    /// Writes a complete file to the bucket.
    func upload(_ file: FileDescriptor, size: Int64, as name: AssetName) async throws(FileFault) {
        let key = key(of: name)
        try await mapped { () async throws(S3Failure) in
            if size <= Self.partLength {
                try await client.put(key, S3Body(file, 0..<size))
            } else {
                try await uploadParts(file, size: size, to: key)
            }
        }
    }

    private func uploadParts(_ file: FileDescriptor, size: Int64, to key: String) async throws(S3Failure) {
        let upload = try await client.beginUpload(key)
        do throws(S3Failure) {
            var tags: [String] = []
            for range in Self.parts(of: size) {
                tags.append(try await client.putPart(key, upload, number: tags.count + 1, S3Body(file, range)))
            }
            try await client.completeUpload(key, upload, tags: tags, size: size)
        } catch {
            // Also in a cancelled task. What fails here is swept later.
            _ = await Task { try? await client.abortUpload(key, upload) }.value
            throw error
        }
    }

    /// The parts in which a file is uploaded.
    static func parts(of size: Int64) -> [Range<Int64>] {
        let length = max(partLength, (size + maximumParts - 1) / maximumParts)
        return stride(from: 0, to: size, by: Int(length)).map { $0..<min($0 + length, size) }
    }

    package var directUploads: (any DirectUploads)? { options.takesForms ? self : nil }

    package func form(
        for file: StoredAsset,
        validFor time: Duration
    ) -> (address: String, fields: [String: String]) {
        let form = client.bucket.form(
            for: key(of: file.name),
            contentType: file.contentType,
            size: file.size,
            seconds: Int(clamping: time.components.seconds),
            at: now()
        )
        return (form.address, Dictionary(form.fields.map { ($0.name, $0.value) }) { first, _ in first })
    }

    // MARK: - Files

    package func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? {
        let key = key(of: name)
        let size = try await mapped { () async throws(S3Failure) in try await client.size(of: key) }
        guard let size else { return try await local.open(name) }
        return OpenedFile(.remote(S3File(client: client, key: key, redirects: options.redirects, now: now)), size: size)
    }

    package func delete(_ name: AssetName) async throws(FileFault) {
        try await mapped { () async throws(S3Failure) in try await client.delete(key(of: name)) }
        try await local.delete(name)
    }

    package func files(after last: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry] {
        let remote = try await mapped { () async throws(S3Failure) in try await objects(after: last, limit: limit) }
        let local = try await local.files(after: last, limit: limit)
        // A file that is in both is read from the bucket.
        let names = Set(remote.map(\.name))
        let all = remote + local.filter { !names.contains($0.name) }
        return Array(all.sorted { $0.name.rawValue < $1.name.rawValue }.prefix(limit))
    }

    private func objects(after last: AssetName?, limit: Int) async throws(S3Failure) -> [FileEntry] {
        var files: [FileEntry] = []
        var lastKey = last.map { key(of: $0) }
        while files.count < limit {
            let page = try await client.objects(
                prefix: prefix,
                after: lastKey,
                limit: min(limit - files.count, 1000)
            )
            files += page.entries.compactMap { object in
                AssetName(object.key.dropFirst(prefix.count)).map {
                    FileEntry(name: $0, size: object.size, modifiedAt: object.modifiedAt)
                }
            }
            guard !page.isLast else { break }
            lastKey = page.entries.last?.key
        }
        return files
    }

    /// The disk to which uploads are written first.
    package func freeSpace() async throws(FileFault) -> Int64? { try await local.freeSpace() }

    package var thumbnails: (any ThumbnailStorage)? { local.thumbnails }

    package func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int {
        let count = try await local.sweep(olderThan: age, except: needed)
        return try await mapped { () async throws(S3Failure) in
            let uploads = try await client.openUploads(prefix: prefix).filter { $0.beganAt.adding(age) < now() }
            for upload in uploads { try await client.abortUpload(upload.key, upload.id) }
            return count + uploads.count
        }
    }

    private func key(of name: AssetName) -> String { prefix + name.rawValue }
}

/// A file that is written to the disk of this machine, and becomes an object.
final class S3IncomingFile: IncomingFile {
    private let local: LocalIncomingFile
    private let storage: S3FileStorage

    init(_ local: LocalIncomingFile, in storage: S3FileStorage) {
        self.local = local
        self.storage = storage
    }

    var id: String { local.id }

    func append(_ part: [UInt8]) async throws(FileFault) {
        try await local.append(part)
    }

    func digests() async throws(FileFault) -> FileDigests {
        try await local.digests()
    }

    func first(_ count: Int) async throws(FileFault) -> [UInt8] {
        try await local.first(count)
    }

    /// A file that the bucket does not take can still be suspended.
    func keep(as name: AssetName) async throws(FileFault) {
        let contents = try await local.contents()
        try await storage.upload(contents.file, size: contents.size, as: name)
        await local.discard()
    }

    func suspend() async throws(FileFault) {
        try await local.suspend()
    }

    func discard() async {
        await local.discard()
    }
}

/// An object of a bucket.
private struct S3File: RemoteFile {
    let client: S3Client
    let key: String
    let redirects: Bool
    let now: @Sendable () -> Timestamp

    func read(_ range: Range<Int64>, _ body: @Sendable (_ part: [UInt8]) async throws -> Void) async throws {
        do {
            try await client.get(key, range, body)
        } catch let failure as S3Failure {
            throw FileFault(failure)
        }
    }

    func address(contentType: String, disposition: String) -> String? {
        guard redirects else { return nil }
        return client.bucket.address(
            of: key,
            contentType: contentType,
            disposition: disposition,
            seconds: S3FileStorage.redirectSeconds,
            at: now()
        )
    }
}

extension S3Body {
    /// A part of a file, which the threads of files read.
    fileprivate init(_ file: FileDescriptor, _ range: Range<Int64>) {
        self.init(length: Int64(range.count)) { offset, count, done in
            FileThreads.reading.start { done(try? file.bytes(at: range.lowerBound + offset, upTo: count)) }
        }
    }
}

/// Runs a request of a store, and turns its failure into a `FileFault`.
private func mapped<Success>(
    _ body: () async throws(S3Failure) -> Success
) async throws(FileFault) -> Success {
    do throws(S3Failure) {
        return try await body()
    } catch {
        throw FileFault(error)
    }
}

extension FileFault {
    fileprivate init(_ failure: S3Failure) {
        self = failure.kind == .full ? .noSpace : .unavailable(failure.description)
    }
}
