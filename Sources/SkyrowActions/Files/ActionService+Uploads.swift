import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Upper bound on the files that a user has announced and not uploaded yet.
    static let maximumAnnounced = 100

    /// Begins an upload, judged by the head of its request.
    ///
    /// The signature of an announced file is enough for it. Without one, its uploader or the master key may upload it, and a file
    /// without an uploader takes a key. For others it does not exist. An upload into a field of a record requires the rights of the
    /// save with which it ends, too.
    ///
    /// Throws errors of credentials and signatures, `108 InvalidArgument`, `109 Duplicated` for a stored file, `110
    /// ResourceNotFound`, `111 NotSupported`, `129 AssetSizeTooLarge`, `131 RateLimited` and `135 Overloaded`; for a field also
    /// what `record:save` throws.
    ///
    /// - Parameters:
    ///   - length: the number of bytes of the file; nil if only its end shows it, as in a form.
    ///   - hashesMD5: whether ``Upload/finish(_:)`` gets an MD5 digest.
    package func beginUpload(
        _ target: UploadTarget,
        length: Int?,
        from sender: Sender,
        id: RequestID,
        hashesMD5: Bool = false
    ) async throws(SkyrowError) -> Upload {
        do throws(SkyrowError) {
            let files = try requiredFiles
            // The response has an address.
            let signer = try await fileSigner()
            let begun =
                switch target {
                case .announced(let name, let signature):
                    try await judge(name, signature, signer, length: length, from: sender, id: id)
                case .new(let filename, let contentType):
                    try await judge(
                        filename,
                        contentType,
                        length: length,
                        by: admitted(sender, for: Actions.assetPut.description, id: id),
                        from: sender
                    )
                case .field(let field, let precondition, let filename, let contentType):
                    try await judge(field, precondition, filename, contentType, length: length, from: sender, id: id)
                }
            try files.enter(begun.holder)
            do throws(SkyrowError) {
                let incoming = try await storing { () async throws(FileFault) in
                    try await files.configuration.requireSpace(for: begun.plan.size ?? 0)
                    return try await files.configuration.storage.begin(hashesMD5: hashesMD5)
                }
                return Upload(begun, into: incoming, of: files, in: self)
            } catch {
                files.leave(begun.holder)
                throw error
            }
        } catch {
            observe(.fileTransferred(.upload, error.code))
            throw error.reported(as: id)
        }
    }

    /// Returns whether a signature allows the upload of a file now, without waiting; false until the key is known.
    package func uploadIsSigned(_ name: AssetName, _ signature: FileSignature) -> Bool {
        guard let signer = files?.links.current else { return false }
        do throws(SkyrowError) {
            try signer.verify(signature, of: name, for: .upload)
            return true
        } catch {
            return false
        }
    }

    // MARK: Judging

    private func judge(
        _ name: AssetName,
        _ signature: FileSignature?,
        _ signer: FileSigner,
        length: Int?,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> BegunUpload {
        let caller: Caller?
        if let signature {
            try admit(sender.credentials, from: sender.client)
            try signer.verify(signature, of: name, for: .upload)
            caller = nil
        } else {
            caller = try await admitted(sender, for: Actions.assetPut.description, id: id)
        }
        guard let file = try await store.assets.asset(name),
            caller.map({ file.admits($0, hasKey: sender.credentials.hasKey) }) ?? true
        else { throw .fileNotFound }
        guard file.state == .expected else { throw .fileStoredAlready }
        let plan = try uploadPlan(file.filename, file.contentType, size: file.size)
        if let length, Int64(length) > file.size { throw .fileTooLarge(file.size) }
        if let length, Int64(length) < file.size {
            throw .invalidArgument("The file has \(length) of the announced \(file.size) bytes.", "content-size")
        }
        return BegunUpload(
            file: file,
            plan: plan,
            isAnnounced: true,
            limit: 0,
            holder: caller?.isOperator == true ? nil : .init(file.owner, of: sender.client)
        )
    }

    private func judge(
        _ field: FileField,
        _ precondition: SavePrecondition,
        _ filename: String,
        _ contentType: String?,
        length: Int?,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> BegunUpload {
        let caller = try await admittedToSave(sender, id: id)
        var begun = try await judge(filename, contentType, length: length, by: caller, from: sender)
        let replacesFile = try await judgeSave(of: begun.file.name, in: field, precondition, by: caller)
        begun.save = FieldSave(
            field: field,
            precondition: precondition,
            sender: sender,
            id: id,
            replacesFile: replacesFile
        )
        return begun
    }

    private func judge(
        _ filename: String,
        _ contentType: String?,
        length: Int?,
        by caller: Caller,
        from sender: Sender
    ) async throws(SkyrowError) -> BegunUpload {
        try requireUpload(by: caller)
        var plan = try uploadPlan(filename, contentType, size: length.map { Int64($0) })
        if let owner = caller.userID, let limit = try quota(of: caller) {
            let used = try await store.assets.bytes(of: owner)
            try plan.limit(by: UploadQuota(limit: limit, used: used))
        }
        return BegunUpload(
            file: StoredAsset(
                name: AssetName(id: UUIDText().description, filename: filename),
                filename: filename,
                contentType: MediaType.octetStream.rawValue,
                size: 0,
                state: .expected,
                owner: caller.userID
            ),
            plan: plan,
            isAnnounced: false,
            limit: maximumAnnounced(of: caller),
            holder: caller.isOperator ? nil : .init(caller.userID, of: sender.client)
        )
    }

    /// Throws `101 NotAuthenticated` or `102 PermissionDenied` by the setting `file-uploads`.
    func requireUpload(by caller: Caller) throws(SkyrowError) {
        guard let refusal = try requiredFiles.configuration.uploads.refusal(of: caller) else { return }
        noteRefusal(refusal)
        throw refusal
    }

    /// Throws `108 InvalidArgument` and `129 AssetSizeTooLarge`.
    func uploadPlan(_ filename: String, _ contentType: String?, size: Int64?) throws(SkyrowError) -> UploadPlan {
        let configuration = try requiredFiles.configuration
        return try UploadPlan(
            filename: filename,
            contentType: contentType,
            size: size,
            maximum: configuration.maximum,
            types: configuration.types
        )
    }

    func maximumAnnounced(of caller: Caller) -> Int { caller.isOperator ? .max : Self.maximumAnnounced }

    /// Returns the upper bound on the bytes of the files that a caller owns; nil without one.
    func quota(of caller: Caller) throws(SkyrowError) -> Int64? {
        let quota = try requiredFiles.configuration.quota
        return caller.isOperator || quota == 0 ? nil : quota
    }

    /// Returns the caller of a request that is no call, as an action would have it: its credentials, the scopes of its key and its
    /// rate are judged.
    func admitted(
        _ sender: Sender,
        for action: ActionDescription,
        id: RequestID
    ) async throws(SkyrowError) -> Caller {
        let cached = Result { () throws(SkyrowError) in try cachedCaller(sender.credentials, for: action) }
        // Requests with wrong credentials count, too.
        try admit(action, from: sender.client, by: (try? cached.get()) ?? nil)
        do throws(SkyrowError) {
            switch cached {
            case .success(let caller?):
                return caller
            case .success(nil):
                let caller = try await authenticate(sender.credentials, for: action)
                try admit(caller)
                return caller
            case .failure(let error):
                noteRefusal(error)
                throw error
            }
        } catch {
            if error.code == .accessKeyNotAccepted {
                auditRefusedKey(sender.credentials, from: sender.origin(of: id))
            }
            throw error
        }
    }
}

extension FilePlaces.Holder {
    init(_ user: UserID?, of client: ClientKey) {
        self = user.map { .user($0) } ?? .client(client)
    }
}

extension StoredAsset {
    /// A file that is announced, with a new name.
    ///
    /// - Parameter size: in bytes.
    init(expected plan: UploadPlan, size: Int64, owner: UserID?) {
        self.init(
            name: AssetName(id: UUIDText().description, filename: plan.filename),
            filename: plan.filename,
            contentType: (plan.declared ?? .octetStream).rawValue,
            size: size,
            state: .expected,
            owner: owner
        )
    }

    /// Whether a caller without a signature may upload the file.
    func admits(_ caller: Caller, hasKey: Bool) -> Bool {
        if caller.isMaster { return true }
        guard let owner else { return hasKey }
        return owner == caller.userID
    }
}

extension Credentials {
    /// Whether they have a key, which may be a wrong one.
    var hasKey: Bool { key.map { !$0.isEmpty } ?? false }

    /// Whether they identify anything.
    var isEmpty: Bool { !hasKey && sessionHash == nil && (accessToken ?? "").isEmpty }
}
