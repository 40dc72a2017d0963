import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

/// Uploads that may be interrupted and continued.
extension ActionService {
    /// Begins an upload, with its first bytes if `part` has any. If these do not arrive completely, nothing of the upload is kept.
    ///
    /// Throws as ``beginUpload(_:length:from:id:hashesMD5:)`` for a new file, and ``TusRefusal/checksum``.
    ///
    /// - Parameter length: of the whole file, in bytes.
    package func createUpload(
        length: Int64,
        _ metadata: UploadMetadata,
        _ part: UploadPart,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> UploadStatus {
        try await observingUpload(id) { () async throws(SkyrowError) in
            let files = try requiredFiles
            // The response may have the address of the file.
            _ = try await fileSigner()
            let caller = try await admitted(sender, for: Actions.assetPut.description, id: id)
            try requireUpload(by: caller)
            guard let filename = metadata.filename else {
                throw .invalidArgument("The file has no name: send it as filename in Upload-Metadata.", "filename")
            }
            let plan = try uploadPlan(filename, metadata.contentType, size: length)
            try plan.requireAcceptedDeclaration()
            if let bytes = part.length, bytes > length { throw .fileTooLarge(length) }
            let begun = BegunUpload(
                file: StoredAsset(expected: plan, size: length, owner: caller.userID),
                plan: plan,
                isAnnounced: true,
                limit: maximumAnnounced(of: caller),
                holder: holder(of: caller, sender)
            )
            return try await withTurn(UploadID(uuid: UUIDText().description)) { turn async throws(SkyrowError) in
                try files.enter(begun.holder)
                let course: UploadCourse
                do throws(SkyrowError) {
                    course = try await begin(begun, quota: quota(of: caller), turn, metadata, files)
                } catch {
                    files.leave(begun.holder)
                    throw error
                }
                return try await course.run(part, isNew: true)
            }
        }
    }

    private func begin(
        _ begun: BegunUpload,
        quota: Int64?,
        _ turn: UploadTurn,
        _ metadata: UploadMetadata,
        _ files: FileState
    ) async throws(SkyrowError) -> UploadCourse {
        let storage = files.configuration.storage
        let incoming = try await storing { () async throws(FileFault) in
            try await files.configuration.requireSpace(for: begun.file.size)
            return try await storage.begin(hashesMD5: false)
        }
        do throws(SkyrowError) {
            let lease = try await store.assets.announce(
                begun.file,
                limit: begun.limit,
                quota: quota,
                storage: storage.kind,
                for: turn.id,
                into: incoming.id,
                metadata: metadata.rawValue,
                leasedFor: UploadCourse.leaseTime
            )
            guard let lease else { throw .tooManyAnnounced }
            guard let stored = try await store.assets.upload(turn.id) else { throw .uploadNotFound }
            let upload = Upload(begun, into: incoming, of: files, in: self, lease: lease)
            return UploadCourse(service: self, stored: stored, lease: lease, upload: upload, turn: turn)
        } catch {
            await incoming.discard()
            throw error
        }
    }

    /// Returns how far an upload is; ends older requests of it, so that their bytes count.
    ///
    /// Throws errors of credentials, `110 ResourceNotFound` for an upload that the caller may not continue, and ``TusRefusal/busy``.
    package func uploadStatus(
        _ upload: UploadID,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> UploadStatus {
        try await observingUpload(id) { () async throws(SkyrowError) in
            try await write(upload, at: nil, .empty, from: sender, id: id)
        }
    }

    /// Adds bytes to an upload, and stores the file with the last of them. If a part without a checksum does not arrive completely, what
    /// has arrived is kept.
    ///
    /// Throws as ``uploadStatus(_:from:id:)``, also ``TusRefusal/offset``, ``TusRefusal/checksum``, `108 InvalidArgument` for a type that
    /// is not accepted, `129 AssetSizeTooLarge`, `131 RateLimited` and `135 Overloaded`.
    package func continueUpload(
        _ upload: UploadID,
        at offset: Int64,
        _ part: UploadPart,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> UploadStatus {
        try await observingUpload(id) { () async throws(SkyrowError) in
            try await write(upload, at: offset, part, from: sender, id: id)
        }
    }

    /// Ends an upload and deletes what has arrived. A file that is stored stays.
    ///
    /// Throws as ``uploadStatus(_:from:id:)``.
    package func removeUpload(_ upload: UploadID, from sender: Sender, id: RequestID) async throws(SkyrowError) {
        try await observingUpload(id) { () async throws(SkyrowError) in
            let (found, _) = try await admitted(upload, from: sender, id: id)
            guard found.asset.state == .expected else { return try await store.assets.remove(found) }
            try await withTurn(upload) { _ async throws(SkyrowError) in
                let storage = try requiredFiles.configuration.storage
                let claimed = try await claim(upload)?.upload ?? found
                try await store.assets.remove(claimed)
                // What fails is swept.
                let incoming = try? await storage.resume(claimed.incoming, length: 0)
                await incoming?.discard()
            }
        }
    }

    // MARK: Opening

    /// - Parameter offset: of the part; nil for a request that only asks.
    private func write(
        _ upload: UploadID,
        at offset: Int64?,
        _ part: UploadPart,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> UploadStatus {
        let (found, caller) = try await admitted(upload, from: sender, id: id)
        if found.asset.state == .stored { return try await complete(found, at: offset) }
        return try await withTurn(upload) { turn async throws(SkyrowError) in
            guard let (stored, lease) = try await claim(upload) else {
                guard let found = try await store.assets.upload(upload) else { throw .uploadNotFound }
                return try await complete(found, at: offset)
            }
            var course: UploadCourse?
            do throws(SkyrowError) {
                if try await !isRecovered(stored) {
                    let size = stored.asset.size
                    guard offset ?? stored.received == stored.received else { throw TusRefusal.offset.error }
                    if let bytes = part.length, bytes > size - stored.received { throw .fileTooLarge(size) }
                    let holder = offset == nil ? nil : self.holder(of: caller, sender)
                    course = try await resume(stored, lease, turn, holder)
                    // A request that was too slow may have given the file its name meanwhile.
                    if course == nil, try await !isRecovered(stored) {
                        // After a restoration, for instance.
                        try await store.assets.remove(stored)
                        throw .uploadNotFound
                    }
                }
            } catch {
                // In a task that is not cancelled with the request, so that the next one does not wait.
                await Task { _ = try? await store.assets.release(lease, at: stored.received) }.value
                throw error
            }
            if let course { return try await course.run(part) }
            guard let stored = try await store.assets.upload(upload) else { throw .uploadNotFound }
            return try await complete(stored, at: offset)
        }
    }

    /// Judges the caller; returns an upload that it may continue.
    private func admitted(
        _ upload: UploadID,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> (StoredUpload, Caller) {
        _ = try requiredFiles
        let caller = try await admitted(sender, for: Actions.assetPut.description, id: id)
        try requireUpload(by: caller)
        guard let found = try await store.assets.upload(upload),
            found.asset.admits(caller, hasKey: sender.credentials.hasKey)
        else { throw .uploadNotFound }
        return (found, caller)
    }

    /// The status of an upload whose file is stored.
    private func complete(_ found: StoredUpload, at offset: Int64?) async throws(SkyrowError) -> UploadStatus {
        guard offset ?? found.asset.size == found.asset.size else { throw TusRefusal.offset.error }
        return UploadStatus(found, UploadedAsset(found.asset, try await fileSigner()))
    }

    /// Waits until no process writes an upload, and takes its lease; returns nil if it was completed meanwhile.
    private func claim(_ upload: UploadID) async throws(SkyrowError) -> (upload: StoredUpload, lease: UploadLease)? {
        let deadline = clock.instant() + UploadCourse.patience
        while true {
            if let (stored, lease) = try await store.assets.claim(upload, for: UploadCourse.leaseTime) {
                return (stored, lease)
            }
            guard let found = try await store.assets.upload(upload) else { throw .uploadNotFound }
            if found.asset.state == .stored { return nil }
            guard clock.instant() < deadline, (try? await clock.sleep(UploadCourse.pollPause)) != nil else {
                throw TusRefusal.busy.error
            }
        }
    }

    /// Marks the file as stored if a request has given it its name and then failed; false if it has no name yet.
    private func isRecovered(_ upload: StoredUpload) async throws(SkyrowError) -> Bool {
        guard let sha256 = upload.sha256 else { return false }
        let storage = try requiredFiles.configuration.storage
        let file = try await storing { () async throws(FileFault) in try await storage.open(upload.asset.name) }
        guard file?.size == upload.asset.size else { return false }
        if try await store.assets.markStored(upload.asset, sha256: sha256, storage: storage.kind) {
            observe(.fileTransferred(.upload, nil))
            observe(.fileBytes(.upload, upload.asset.size))
        }
        return true
    }

    /// Continues the incoming file of an upload; returns nil if it does not exist.
    private func resume(
        _ stored: StoredUpload,
        _ lease: UploadLease,
        _ turn: UploadTurn,
        _ holder: FilePlaces.Holder?
    ) async throws(SkyrowError) -> UploadCourse? {
        let files = try requiredFiles
        let file = stored.asset
        let plan = try uploadPlan(file.filename, file.contentType, size: file.size)
        try files.enter(holder)
        do throws(SkyrowError) {
            let storage = files.configuration.storage
            let incoming = try await storing { () async throws(FileFault) in
                try await storage.resume(stored.incoming, length: stored.received)
            }
            guard let incoming else {
                files.leave(holder)
                return nil
            }
            // Other processes cannot write the file any more. One may have done so if this request was too slow for its lease.
            guard try await store.assets.renew(lease, for: UploadCourse.leaseTime) != .lost else {
                throw TusRefusal.busy.error
            }
            let first = try await storing { () async throws(FileFault) in
                try await incoming.first(SniffedType.examinedBytes)
            }
            let begun = BegunUpload(file: file, plan: plan, isAnnounced: true, limit: 0, holder: holder)
            let progress = UploadProgress(plan, received: stored.received, first: first)
            let upload = Upload(begun, into: incoming, of: files, in: self, progress: progress, lease: lease)
            return UploadCourse(service: self, stored: stored, lease: lease, upload: upload, turn: turn)
        } catch {
            files.leave(holder)
            throw error
        }
    }

    private func holder(of caller: Caller, _ sender: Sender) -> FilePlaces.Holder? {
        caller.isOperator ? nil : FilePlaces.Holder(caller.userID, of: sender.client)
    }

    /// Runs work when no older request of the upload runs in this process.
    private func withTurn<Success>(
        _ upload: UploadID,
        _ body: (UploadTurn) async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        let line = try requiredFiles.line
        let turn = await line.enter(upload) { [clock] in try await clock.sleep(UploadCourse.patience) }
        guard let turn else { throw TusRefusal.busy.error }
        defer { line.leave(turn) }
        return try await body(turn)
    }

    private func observingUpload<Success>(
        _ id: RequestID,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        do throws(SkyrowError) {
            return try await body()
        } catch {
            observe(.fileTransferred(.upload, error.code))
            throw error.reported(as: id)
        }
    }
}
