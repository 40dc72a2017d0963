import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let files: [any AnyEntry] = [
        Entry(Actions.assetPut, ActionService.announceFile),
        Entry(Actions.fileSign, ActionService.signFiles),
        Entry(Actions.fileDelete, ActionService.deleteFiles),
        Entry(Actions.fileCollect, ActionService.collectFiles),
    ]
}

extension ActionService {
    /// Throws `101 NotAuthenticated` or `102 PermissionDenied` by the setting `file-uploads`, `108 InvalidArgument` for a type that
    /// is not accepted, `129 AssetSizeTooLarge`, also beyond the quota, and `131 RateLimited` to a user with too many files that were
    /// announced and not uploaded.
    fileprivate func announceFile(
        _ announcement: FileAnnouncement,
        _ call: Call
    ) async throws(SkyrowError) -> AnnouncedFile {
        let signer = try await fileSigner()
        try requireUpload(by: call.caller)
        let plan = try uploadPlan(
            announcement.filename,
            announcement.contentType,
            size: Int64(announcement.size)
        )
        try plan.requireAcceptedDeclaration()
        let file = StoredAsset(expected: plan, size: Int64(announcement.size), owner: call.caller.userID)
        let storage = try requiredFiles.configuration.storage.kind
        let limit = maximumAnnounced(of: call.caller)
        let quota = try quota(of: call.caller)
        guard try await store.assets.announce(file, limit: limit, quota: quota, storage: storage) else {
            throw .tooManyAnnounced
        }
        return AnnouncedFile(file: UploadedAsset(file, signer).file, request: try request(for: file, signer))
    }

    /// Returns the addresses of those files that the record names and that may be signed.
    ///
    /// Throws `110 ResourceNotFound` for a record that does not exist, or that the caller may not read.
    fileprivate func signFiles(_ request: FileSigning, _ call: Call) async throws(SkyrowError) -> [AssetName: String] {
        let signer = try await fileSigner()
        let access = try recordAccess(to: request.database, for: .reading, by: call.caller)
        // Their names inside of JSON were not seen by a save.
        try await confirmDirectUploads(of: request.names)
        guard let files = try await store.assets.nestedAssets(request.names, in: request.record, with: access) else {
            throw .recordNotFound
        }
        return Dictionary(files.map { ($0.name, signer.address(of: $0.name)) }) { first, _ in first }
    }

    /// Throws `110 ResourceNotFound` for a file that does not exist or that another user uploaded, `113 ConstraintViolated` for one
    /// that a record refers to, and `135 Overloaded` beside a backup.
    fileprivate func deleteFiles(_ deletion: FileDeletion, _ call: Call) async throws(SkyrowError) -> Int {
        _ = try requiredFiles
        try call.caller.requireUserOrMaster()
        guard call.caller.isMaster || !deletion.forces else {
            throw SkyrowError(.permissionDenied, "\"force\" requires the master key.")
        }
        guard !deletion.names.isEmpty else { return 0 }
        let outcomes = try await store.assets.delete(
            deletion.names,
            owner: call.caller.isMaster ? nil : call.caller.userID,
            force: deletion.forces
        )
        guard !outcomes.values.contains(.missing) else { throw .fileNotFound }
        guard !outcomes.values.contains(.referredTo) else { throw .fileReferredTo }
        // The notification of the database comes later.
        forget(.files)
        audit(call.audit(.fileDelete))
        await removeGarbage()
        return outcomes.count
    }

    fileprivate func collectFiles(_ isDryRun: Bool, _ call: Call) async throws(SkyrowError) -> FileCollection {
        let look = try await look(isDryRun: isDryRun)
        if !isDryRun { audit(call.audit(.fileCollect)) }
        return FileCollection(unreferenced: look.marked, deleted: look.collected)
    }
}

extension SkyrowError {
    fileprivate static let recordNotFound = SkyrowError(.resourceNotFound, "The record does not exist.")
    fileprivate static let fileReferredTo = SkyrowError(
        .constraintViolated,
        "A record refers to one of the files; nothing was deleted."
    )
}
