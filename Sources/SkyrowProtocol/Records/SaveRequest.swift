package import SkyrowJSON
package import SkyrowModel

/// The records that `record:save` saves: drafts in the order of the request, or an error in place of one that could not be read.
package struct SaveRequest: Sendable {
    /// An element of the list.
    package enum Item: Sendable {
        case draft(RecordDraft)
        /// `id` as it was sent, if it could be read.
        case failure(SkyrowError, id: String?)
    }

    package var database: DatabaseName
    package var items: [Item]
    package var isAtomic: Bool
    package var returnedMembers: ReturnedMembers
    /// Up to 64 bytes; a retry with the same key gets the first result.
    package var idempotencyKey: String?
    /// The bytes from which the SHA-256 of the request's canonical text is computed when a key is given.
    package var fingerprintSource: [UInt8]
    /// Whether hooks run.
    package var runsHooks: Bool

    package init(
        database: DatabaseName,
        items: [Item],
        isAtomic: Bool = false,
        returnedMembers: ReturnedMembers = .record,
        idempotencyKey: String? = nil,
        fingerprintSource: [UInt8] = [],
        runsHooks: Bool = true
    ) {
        self.database = database
        self.items = items
        self.isAtomic = isAtomic
        self.returnedMembers = returnedMembers
        self.idempotencyKey = idempotencyKey
        self.fingerprintSource = fingerprintSource
        self.runsHooks = runsHooks
    }
}

// A batch has many items, so these members iterate by index, without copies.

extension [SaveRequest.Item] {
    /// The types of the drafts.
    package var types: Set<RecordTypeName> {
        var types: Set<RecordTypeName> = []
        // Most requests save records of one type.
        var last: RecordTypeName?
        for place in indices {
            guard case .draft(let draft) = self[place], draft.id.type != last else { continue }
            types.insert(draft.id.type)
            last = draft.id.type
        }
        return types
    }

    /// Whether a draft has an access list.
    package var haveAccessLists: Bool {
        indices.contains { place in
            if case .draft(let draft) = self[place] { draft.access != nil } else { false }
        }
    }

    /// Throws `108 InvalidArgument` with the errors of the items that could not be read, if any.
    package func requireReadable() throws(SkyrowError) {
        let errors: [ErrorInfo] = compactMap {
            if case .failure(let error, _) = $0 { .error(error) } else { nil }
        }
        guard errors.isEmpty else {
            var error = SkyrowError.invalidArgument(
                "Nothing was saved, because some of the records could not be read.",
                "records"
            )
            error.info["errors"] = .list(errors)
            throw error
        }
    }
}

// MARK: JSON

extension SaveRequest {
    static func form(_ rules: ReadingRules) -> Form<SaveRequest> {
        Form(
            [
                MemberDescription(
                    "records",
                    "The records to save.",
                    .array(of: .named(.recordDraft), minimum: 1),
                    isRequired: true
                ),
                .database, .atomic,
                MemberDescription(
                    "return",
                    "What the result contains of each saved record: all of it, or its id, its revision and the fields that "
                        + "operators changed.",
                    .oneOfStrings(ReturnedMembers.allCases.map(\.rawValue))
                ),
                MemberDescription(
                    "update_only",
                    "Whether a record that does not exist is an error, instead of being created.",
                    .nullable(.boolean)
                ),
                .idempotencyKey, .hooks,
            ],
            read: { json throws(SkyrowError) in try SaveRequest(parameters: json, rules: rules) },
            write: { $1.saveRequest($0) }
        )
    }

    /// Reads `record:save`. A record that cannot be read becomes a failed item, so that the others can be saved.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        let database = try parameters.database()
        let isAtomic = try parameters.boolean("atomic") ?? false
        let returnedMembers = try parameters.returnedMembers()
        let idempotencyKey = try parameters.idempotencyKey()
        let isUpdateOnly = try parameters.boolean("update_only") ?? false
        let records = try parameters.required("records", parameters.array("records"))
        guard records.count > 0 else { throw .invalidArgument("\"records\" is empty.", "records") }
        guard records.count <= WireLimits.batchCount else { throw parameters.tooMany("records", WireLimits.batchCount) }
        var items: [Item] = []
        items.reserveCapacity(records.count)
        for record in records.elements {
            do throws(SkyrowError) {
                var draft = try RecordDraft(record, rules: rules)
                if isUpdateOnly { try draft.requireUpdate() }
                items.append(.draft(draft))
            } catch {
                items.append(.failure(error.inRecord(at: items.count), id: RecordDraft.sentID(record)))
            }
        }
        self.init(
            database: database,
            items: items,
            isAtomic: isAtomic,
            returnedMembers: returnedMembers,
            idempotencyKey: idempotencyKey,
            fingerprintSource: idempotencyKey == nil ? [] : fingerprint(parameters, list: records),
            runsHooks: try parameters.boolean("hooks") ?? true
        )
    }
}

extension RecordDraft {
    /// Has the save create nothing; a revision that is named says so already.
    ///
    /// Throws `108 InvalidArgument` for a record that must be new.
    fileprivate mutating func requireUpdate() throws(SkyrowError) {
        guard precondition != .isNew, !id.isTemporary else {
            throw .invalidArgument("With \"update_only\", no record can be new.", "update_only")
        }
        precondition = precondition ?? .exists
    }
}

extension Parameters {
    fileprivate func returnedMembers() throws(SkyrowError) -> ReturnedMembers {
        guard let name = try string("return") else { return .record }
        guard let members = ReturnedMembers(rawValue: name) else {
            throw .invalidArgument("\"return\" must be \"record\" or \"changed\".", "return")
        }
        return members
    }
}

/// What makes two requests the same: database, atomicity, list in canonical form, what is returned of each record where
/// that is not all of it, whether records may be new where they may not, and whether hooks run where they do not.
private func fingerprint(_ parameters: Parameters, list: JSONView) -> [UInt8] {
    let writer = JSONWriter(capacity: list.source.count + 64)
    writer.beginArray()
    if let database = parameters["database_id"] { writer.canonical(database) } else { writer.null() }
    writer.boolean(parameters["atomic"]?.boolean ?? false)
    writer.canonical(list)
    if let members = parameters["return"], !members.equals("record") { writer.canonical(members) }
    if parameters["update_only"]?.boolean ?? false { writer.string("update_only") }
    if parameters["hooks"]?.boolean == false { writer.string("hooks") }
    writer.endArray()
    return writer.bytes
}

extension JSONWriter {
    fileprivate func saveRequest(_ request: SaveRequest) {
        beginObject()
        databaseID(request.database)
        if request.returnedMembers != .record { member("return", request.returnedMembers.rawValue) }
        beginArray("records")
        for case .draft(let draft) in request.items { self.draft(draft) }
        endArray()
        writeOptions(
            isAtomic: request.isAtomic,
            idempotencyKey: request.idempotencyKey,
            runsHooks: request.runsHooks
        )
        endObject()
    }
}
