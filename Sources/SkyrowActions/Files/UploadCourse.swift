import SkyrowConcurrency
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

/// The bytes that one request adds to an upload.
package struct UploadPart: Sendable {
    package typealias Append = @Sendable (_ bytes: [UInt8]) async throws(SkyrowError) -> Void

    /// How many they are; nil if only their end shows it.
    let length: Int64?
    let checksum: TusChecksum?
    let read: @Sendable (_ append: @escaping Append) async throws(SkyrowError) -> Void

    /// No bytes.
    package static let empty = UploadPart(length: 0, checksum: nil) { _ in }

    /// - Parameter read: Passes the bytes to `append` as they arrive; throws if not all of them do, and what `append` throws.
    package init(
        length: Int64?,
        checksum: TusChecksum?,
        read: @escaping @Sendable (_ append: @escaping Append) async throws(SkyrowError) -> Void
    ) {
        self.length = length
        self.checksum = checksum
        self.read = read
    }
}

/// How far an upload is that may be interrupted and continued.
package struct UploadStatus: Sendable {
    package let id: UploadID
    /// How many bytes are certain to be in the storage; all of them once the file is stored.
    package let offset: Int64
    /// Of the whole file, in bytes.
    package let length: Int64
    /// `Upload-Metadata`, as the client sent it.
    package let metadata: String
    package let expiresAt: Timestamp
    /// The file, once it is stored.
    package let uploaded: UploadedAsset?

    init(_ upload: StoredUpload, at offset: Int64) {
        self.init(upload, offset, nil)
    }

    init(_ upload: StoredUpload, _ uploaded: UploadedAsset) {
        self.init(upload, upload.asset.size, uploaded)
    }

    private init(_ upload: StoredUpload, _ offset: Int64, _ uploaded: UploadedAsset?) {
        id = upload.id
        self.offset = offset
        length = upload.asset.size
        metadata = upload.metadata
        expiresAt = upload.expiresAt
        self.uploaded = uploaded
    }
}

/// One request that writes an upload, from its first byte to the end of its lease.
///
/// ``UploadEnd`` decides what becomes of the bytes. They are acknowledged after they are durable and the row has their number; a crash
/// in between leaves more bytes than the row counts, which the next request cuts off.
struct UploadCourse: Sendable {
    /// How long a lease is valid.
    static let leaseTime = Duration.seconds(6)
    /// How often it is extended.
    private static let renewalPause = Duration.seconds(2)
    /// How long a request waits for the end of an older one.
    static let patience = Duration.seconds(10)
    /// How often a request looks whether one of another process has ended.
    static let pollPause = Duration.milliseconds(250)

    let service: ActionService
    let stored: StoredUpload
    let lease: UploadLease
    let upload: Upload
    let turn: UploadTurn

    /// - Parameter isNew: whether the client does not know the address of the upload yet.
    func run(_ part: UploadPart, isNew: Bool = false) async throws(SkyrowError) -> UploadStatus {
        let received = await receive(part)
        // A task that is not cancelled with the request of a client that has left.
        let outcome = await Task {
            do throws(SkyrowError) {
                return Result<UploadStatus, SkyrowError>.success(try await end(received, isNew: isNew))
            } catch {
                return .failure(error)
            }
        }.value
        return try outcome.get()
    }

    // MARK: Receiving

    private struct Received: Sendable {
        /// Why the body was not read to its end.
        var error: SkyrowError?
        var checksum = UploadEnd.Checksum.absent
        /// Whether another request writes the upload.
        var isLost = false
    }

    private enum Step: Sendable {
        case read(SkyrowError?)
        case interrupted
        case lost
        /// The lease is not extended any more.
        case left
    }

    private func receive(_ part: UploadPart) async -> Received {
        let digester = part.checksum.map { PartDigester($0) }
        var received = Received()
        await withTaskGroup(of: Step.self) { group in
            group.addTask { await .read(read(part, digester)) }
            group.addTask { await keepLease(isEnding: false) }
            group.addTask {
                await turn.interruption.value(ifCancelled: ())
                return .interrupted
            }
            for await step in group {
                switch step {
                case .read(let error): received.error = error
                case .interrupted: break
                case .lost: received.isLost = true
                case .left: continue
                }
                group.cancelAll()
            }
        }
        if let digester { received.checksum = digester.agrees ? .right : .wrong }
        return received
    }

    private func read(_ part: UploadPart, _ digester: PartDigester?) async -> SkyrowError? {
        do throws(SkyrowError) {
            try await part.read { bytes async throws(SkyrowError) in
                // Bytes that have arrived are kept, also those with which the request is interrupted.
                try await upload.append(bytes)
                digester?.update(bytes)
                guard !Task.isCancelled else { throw TusRefusal.busy.error }
            }
            return nil
        } catch {
            return error
        }
    }

    /// Extends the lease until another request wants it; that one waits for an end that has begun.
    private func keepLease(isEnding: Bool) async -> Step {
        while (try? await service.clock.sleep(Self.renewalPause)) != nil {
            // Without the database the lease ends by itself, and the end of the request finds that out.
            switch try? await service.store.assets.renew(lease, for: Self.leaseTime) {
            case .held, nil: continue
            case .wanted: if !isEnding { return .interrupted }
            case .lost: return .lost
            }
        }
        return .left
    }

    // MARK: Ending

    private func end(_ received: Received, isNew: Bool) async throws(SkyrowError) -> UploadStatus {
        guard !received.isLost else {
            // The other request decides how much of the file counts.
            try? await upload.suspend()
            throw TusRefusal.busy.error
        }
        let error = received.error ?? (received.checksum == .wrong ? TusRefusal.checksum.error : nil)
        if isNew, let error {
            await remove()
            throw error
        }
        let end = UploadEnd(
            from: stored.received,
            to: upload.written,
            of: stored.asset.size,
            error: received.error,
            checksum: received.checksum
        )
        switch end {
        case .store:
            return try await store(isNew: isNew)
        case .suspend(let offset):
            try await suspend(at: offset)
            if let error { throw error }
            return UploadStatus(stored, at: offset)
        case .remove:
            await remove()
            throw error ?? .unexpected
        }
    }

    private func store(isNew: Bool) async throws(SkyrowError) -> UploadStatus {
        // A large file is read again for its digest.
        let keeping = Task { await keepLease(isEnding: true) }
        defer { keeping.cancel() }
        do throws(SkyrowError) {
            return UploadStatus(stored, try await upload.finish())
        } catch {
            // A newer request has marked the file as stored, after this one had given it its name.
            if error.code == .duplicated, let now = try? await service.store.assets.upload(stored.id),
                now.asset.state == .stored, let signer = service.files?.links.current
            {
                return UploadStatus(now, UploadedAsset(now.asset, signer))
            }
            switch UploadEnd(failing: error, of: stored.asset.size) {
            case .suspend(let offset) where !isNew: try? await suspend(at: offset)
            default: await remove()
            }
            throw error
        }
    }

    private func suspend(at offset: Int64) async throws(SkyrowError) {
        var offset = offset
        let outcome = await Result { () async throws(SkyrowError) in try await upload.suspend() }
        if case .failure = outcome { offset = stored.received }
        guard try await service.store.assets.release(lease, at: offset) else { throw TusRefusal.busy.error }
        try outcome.get()
    }

    private func remove() async {
        await upload.discard()
        // A row that stays has no bytes, and ends with the next request for it, or in a day.
        try? await service.store.assets.remove(stored)
    }
}

extension Result where Failure == SkyrowError {
    /// Creates the outcome of work that may be suspended.
    fileprivate init(_ body: () async throws(SkyrowError) -> Success) async {
        do throws(SkyrowError) {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
