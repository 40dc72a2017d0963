package import SkyrowJSON
package import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Synchronization

/// The file that an upload is for.
package enum UploadTarget: Sendable {
    /// A file that `asset:put` announced, with the signature of its address if the address has one.
    case announced(AssetName, FileSignature?)
    /// A file that the upload itself announces.
    case new(filename: String, contentType: String?)
    /// The same, for a field of a record that exists and meets the precondition; the upload ends with the save of the record.
    case field(FileField, SavePrecondition, filename: String, contentType: String?)
}

/// What the complete file is compared with.
package struct UploadChecks: Hashable, Sendable {
    /// The 16 bytes of `Content-MD5`.
    package var md5: [UInt8]?
    /// The 32 bytes of a digest field.
    package var sha256: [UInt8]?
    /// The media type that the part of a form declares.
    package var contentType: String?

    package init(md5: [UInt8]? = nil, sha256: [UInt8]? = nil, contentType: String? = nil) {
        self.md5 = md5
        self.sha256 = sha256
        self.contentType = contentType
    }
}

/// A stored file with its address, as the response to its upload has it.
package struct UploadedAsset: Sendable {
    package let asset: StoredAsset
    package let url: String

    init(_ asset: StoredAsset, _ signer: FileSigner) {
        self.asset = asset
        url = signer.address(of: asset.name)
    }

    /// `{"$type":"asset","$name":…,"$content_type":…,"$size":…,"$width":…,"$height":…,"$url":…}`
    package func write(to writer: JSONWriter) {
        Codec<UploadedFile>.uploadedFile.write(file, writer)
    }

    var file: UploadedFile {
        UploadedFile(
            asset: Asset(asset.name, url: url),
            contentType: asset.contentType,
            size: asset.size,
            dimensions: asset.dimensions
        )
    }
}

/// A file that is being uploaded, by one task.
///
/// ```swift
/// let upload = try await service.beginUpload(.new(filename: "cat.png", contentType: "image/png"), length: 1024, from: sender, id: id)
/// for try await part in body { try await upload.append(part) }
/// let uploaded = try await upload.finish(UploadChecks())
/// ```
///
/// Any error discards what has arrived. ``discard()`` does so when the request ends early. An upload with a lease is different: after
/// an error it is still open, for ``suspend()``.
package final class Upload: Sendable {
    private struct State {
        var progress: UploadProgress
        /// How far the bytes reach that are in the incoming file.
        var written: Int64
        var hasEnded = false
    }

    private let service: ActionService
    private let files: FileState
    private let file: StoredAsset
    private let isAnnounced: Bool
    /// Upper bound on the files that the owner has announced, as of this one.
    private let limit: Int
    /// Upper bound on the bytes of the owner's files; nil without one.
    private let quota: Int64?
    private let holder: FilePlaces.Holder?
    /// The save of the record for whose field the file is; nil for an upload by itself.
    private let save: FieldSave?
    private let incoming: any IncomingFile
    /// The right to write an upload that may be interrupted and continued.
    private let lease: UploadLease?
    private let deadline: ContinuousClock.Instant
    private let state: Mutex<State>

    /// - Parameter progress: that of the upload before; nil for one that begins.
    init(
        _ begun: BegunUpload,
        into incoming: any IncomingFile,
        of files: FileState,
        in service: ActionService,
        progress: UploadProgress? = nil,
        lease: UploadLease? = nil
    ) {
        self.service = service
        self.files = files
        self.incoming = incoming
        file = begun.file
        isAnnounced = begun.isAnnounced
        limit = begun.limit
        quota = begun.plan.quota?.limit
        holder = begun.holder
        save = begun.save
        self.lease = lease
        deadline = service.clock.instant() + files.configuration.time
        let progress = progress ?? UploadProgress(begun.plan)
        state = Mutex(State(progress: progress, written: progress.received))
    }

    deinit {
        if !state.withLock({ $0.hasEnded }) { files.leave(holder) }
    }

    package var name: AssetName { file.name }

    /// Whether the file takes the place of another one in the field of a record, as far as the caller sees that field.
    package var replacesFile: Bool { save?.replacesFile ?? false }

    /// How far the bytes reach that are in the incoming file.
    var written: Int64 { state.withLock(\.written) }

    /// Writes the next part.
    ///
    /// Throws `129 AssetSizeTooLarge` beyond the announced size, the upper bound and the quota, `108 InvalidArgument` for a type
    /// that is not accepted, `122 ResponseTimeout` after the time for an upload, and `135 Overloaded` for a fault of the storage.
    package func append(_ part: [UInt8]) async throws(SkyrowError) {
        try await discarding { () async throws(SkyrowError) in
            guard service.clock.instant() < deadline else { throw .uploadTimedOut }
            if let rest = state.withLock({ $0.progress.spaceToRequire() }) {
                try await service.storing { () async throws(FileFault) in
                    try await files.configuration.requireSpace(for: rest)
                }
            }
            try state.withLock { state throws(SkyrowError) in
                guard !state.hasEnded else { throw .uploadHasEnded }
                try state.progress.take(part)
            }
            try await service.storing { () async throws(FileFault) in try await incoming.append(part) }
            state.withLock { $0.written += Int64(part.count) }
        }
    }

    /// Stores the file; when this returns, a crash of the machine does not lose it.
    ///
    /// Throws `108 InvalidArgument` for an empty file, fewer bytes than announced, another checksum and a type that is not
    /// accepted, `109 Duplicated` if the file is stored already, `110 ResourceNotFound` if it is no longer expected, and `129
    /// AssetSizeTooLarge` if other uploads have used the quota meanwhile; for the field of a record what `record:save` throws,
    /// after which the file is deleted.
    package func finish(_ checks: UploadChecks = UploadChecks()) async throws(SkyrowError) -> UploadedAsset {
        let uploaded = try await discarding { () async throws(SkyrowError) in
            let file = try await measured(completed(checks))
            let digests = try await service.storing { () async throws(FileFault) in try await incoming.digests() }
            try digests.require(checks)
            let sha256 = digests.sha256
            let uploaded = try await isAnnounced ? keepAnnounced(file, sha256) : keepNew(file, sha256)
            if let save { try await service.save(file.name, in: save) }
            return uploaded
        }
        end()
        service.observe(.fileTransferred(.upload, nil))
        service.observe(.fileBytes(.upload, uploaded.asset.size))
        return uploaded
    }

    /// Discards what has arrived. Has no effect after the upload has ended.
    package func discard() async {
        guard end() else { return }
        await incoming.discard()
    }

    /// Makes what has arrived durable, and ends the request; has no effect after the upload has ended.
    func suspend() async throws(SkyrowError) {
        guard end() else { return }
        try await service.storing { () async throws(FileFault) in try await incoming.suspend() }
    }

    // MARK: Ending

    /// Releases the place of the upload; false if it has ended before.
    @discardableResult
    private func end() -> Bool {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { files.leave(holder) }
        return isFirst
    }

    private func discarding<Success>(
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        do throws(SkyrowError) {
            return try await body()
        } catch {
            if lease == nil, end() {
                await incoming.discard()
                service.observe(.fileTransferred(.upload, error.code))
            }
            throw error
        }
    }

    /// Returns the file as its row will have it.
    private func completed(_ checks: UploadChecks) throws(SkyrowError) -> StoredAsset {
        try state.withLock { state throws(SkyrowError) in
            guard !state.hasEnded else { throw .uploadHasEnded }
            let end = try state.progress.finish(part: checks.contentType)
            var file = file
            file.size = end.size
            file.contentType = end.contentType.rawValue
            file.sniffed = end.sniffed
            return file
        }
    }

    /// Returns an image with its size.
    private func measured(_ file: StoredAsset) async throws(SkyrowError) -> StoredAsset {
        guard let sniffed = file.sniffed, ImageFormat(rawValue: sniffed) != nil else { return file }
        let first = try await service.storing { () async throws(FileFault) in
            try await incoming.first(ImageHeader.examinedBytes)
        }
        var file = file
        file.dimensions = ImageHeader(first)?.size
        return file
    }

    private func keepAnnounced(_ file: StoredAsset, _ sha256: [UInt8]) async throws(SkyrowError) -> UploadedAsset {
        guard files.claim(file.name) else { throw .fileStoredAlready }
        defer { files.release(file.name) }
        // Another upload may have stored it meanwhile.
        guard let known = try await service.store.assets.asset(file.name) else { throw .fileNotFound }
        guard known.state == .expected else { throw .fileStoredAlready }
        return try await keep(file, sha256)
    }

    private func keepNew(_ file: StoredAsset, _ sha256: [UInt8]) async throws(SkyrowError) -> UploadedAsset {
        // With a row before there is a file, a crash leaves no file that nothing names.
        let storage = files.configuration.storage.kind
        guard try await service.store.assets.announce(file, limit: limit, quota: quota, storage: storage) else {
            throw .tooManyAnnounced
        }
        return try await keep(file, sha256)
    }

    private func keep(_ file: StoredAsset, _ sha256: [UInt8]) async throws(SkyrowError) -> UploadedAsset {
        if let lease {
            // A crash before the file is marked as stored leaves what that needs, and a request that was too slow ends here.
            let time = UploadCourse.leaseTime
            guard try await service.store.assets.prepareEnd(lease, file, sha256: sha256, for: time) else {
                throw TusRefusal.busy.error
            }
        }
        try await service.storing { () async throws(FileFault) in try await incoming.keep(as: file.name) }
        let storage = files.configuration.storage
        do throws(SkyrowError) {
            let isFirst = try await service.store.assets.markStored(
                file,
                sha256: sha256,
                storage: storage.kind
            )
            guard isFirst else { throw .fileStoredAlready }
        } catch  where error.code == .resourceNotFound {
            // The row has expired meanwhile, so that nothing else would delete the file.
            try await service.storing { () async throws(FileFault) in try await storage.delete(file.name) }
            throw error
        }
        var stored = file
        stored.state = .stored
        stored.storedAt = service.clock.now()
        return UploadedAsset(stored, try await service.fileSigner())
    }
}

extension FileDigests {
    /// Throws `108 InvalidArgument` for another checksum than that of the request.
    func require(_ checks: UploadChecks) throws(SkyrowError) {
        if let expected = checks.sha256, expected != sha256 { throw .wrongChecksum }
        if let expected = checks.md5 {
            guard let md5 else { throw .unexpected }
            guard expected == md5 else { throw .wrongChecksum }
        }
    }
}

/// An upload that may begin.
struct BegunUpload: Sendable {
    let file: StoredAsset
    let plan: UploadPlan
    let isAnnounced: Bool
    let limit: Int
    let holder: FilePlaces.Holder?
    var save: FieldSave?
}

extension SkyrowError {
    /// The same for a file that does not exist and for one that the caller may not use.
    package static let fileNotFound = SkyrowError(.resourceNotFound, "The file does not exist.")

    static let fileStoredAlready = SkyrowError(.duplicated, "The file has been uploaded already.")

    static let tooManyAnnounced = SkyrowError(
        .rateLimited,
        "Too many files were announced and not uploaded; upload them, or try again tomorrow.",
        info: ["retry_after": .integer(3600)]
    )

    fileprivate static let wrongChecksum = SkyrowError.invalidArgument(
        "The file does not have the checksum of the request."
    )
    fileprivate static let uploadTimedOut = SkyrowError(.responseTimeout, "The upload took too long.")
    fileprivate static let uploadHasEnded = SkyrowError(.badRequest, "The upload has ended.")
}
