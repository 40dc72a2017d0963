package import SkyrowJSON
package import SkyrowModel

// Every request is read from the object that holds its named parameters: `params` of a JSON-RPC call, or the whole body
// in the v1 envelope. Both have the same names.

extension SaveRequest {
    /// Reads `record:save`; a record that cannot be read becomes an item of its own, so that the others can be saved.
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
            fingerprintSource: idempotencyKey == nil ? [] : fingerprint(parameters, list: records)
        )
    }
}

extension RecordDraft {
    /// Has the save create nothing; a revision that is named says so already.
    ///
    /// Throws `108 InvalidArgument` for a record that is to be new.
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
/// that is not all of it, and whether records may be new where they may not.
private func fingerprint(_ parameters: Parameters, list: JSONView) -> [UInt8] {
    let writer = JSONWriter(capacity: list.source.count + 64)
    writer.beginArray()
    if let database = parameters["database_id"] { writer.canonical(database) } else { writer.null() }
    writer.boolean(parameters["atomic"]?.boolean ?? false)
    writer.canonical(list)
    if let members = parameters["return"], !members.equals("record") { writer.canonical(members) }
    if parameters["update_only"]?.boolean ?? false { writer.string("update_only") }
    writer.endArray()
    return writer.bytes
}

extension RecordIDsRequest {
    /// Reads `record:fetch` and `record:delete`; also takes the newer `records` with `_recordType` and `_recordID`.
    ///
    /// - Parameter isReading: whether the records are only read, so that roles may be among them.
    package init(parameters json: JSONView, isReading: Bool = false) throws(SkyrowError) {
        let parameters = Parameters(json)
        let database = try parameters.database()
        let isAtomic = try parameters.boolean("atomic") ?? false
        let idempotencyKey = try parameters.idempotencyKey()
        let list: JSONView
        let name: String
        if let ids = try parameters.array("ids") {
            (list, name) = (ids, "ids")
        } else {
            (list, name) = (try parameters.required("ids", parameters.array("records")), "records")
        }
        self.init(
            database: database,
            ids: try Self.ids(list, name, isReading: isReading),
            isAtomic: isAtomic,
            idempotencyKey: idempotencyKey
        )
    }

    static func ids(
        _ list: JSONView,
        _ name: String,
        isReading: Bool = false
    ) throws(SkyrowError) -> [RecordID] {
        guard list.isArray else { throw .wrongType(name, "an array") }
        guard list.count > 0 else { throw .invalidArgument("\"\(name)\" is empty.", name) }
        guard list.count <= WireLimits.batchCount else {
            throw .invalidArgument(
                "\"\(name)\" has more than \(WireLimits.batchCount) entries; send several requests.",
                name
            )
        }
        var ids: [RecordID] = []
        ids.reserveCapacity(list.count)
        for element in list.elements {
            do throws(SkyrowError) {
                ids.append(try RecordID(entry: element, isReading: isReading))
            } catch {
                guard error.code == .invalidArgument else { throw error }
                throw .invalidArgument(error.message, name)
            }
        }
        return ids
    }
}

extension RecordID {
    /// Reads an entry of a list of ids: `"type/id"` or an object in the newer form.
    fileprivate init(entry json: JSONView, isReading: Bool) throws(SkyrowError) {
        if json.isString {
            try self.init(json: json, isReadable: isReading)
        } else if let type = json["_recordType"]?.string, let id = json["_recordID"]?.string {
            try self.init(type: isReading ? RecordTypeName(readable: type) : RecordTypeName(type), id: id)
        } else if let text = json["_id"]?.string {
            self = try isReading ? RecordID(readable: text) : RecordID(text)
        } else {
            throw .invalidArgument("A record id must have the form \"type/id\".")
        }
    }
}

extension QueryRequest {
    /// Reads `record:query`.
    package init(parameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            database: try parameters.database(),
            query: try RecordQuery(parameters, type: parameters.readableType(), rules: rules),
            explanation: try ExplainMode(parameters),
            timeLimit: try parameters.timeLimit()
        )
    }
}

// MARK: The client's side

extension JSONWriter {
    /// The parameters of `record:save`.
    package func saveParameters(
        _ drafts: [RecordDraft],
        database: DatabaseName,
        isAtomic: Bool,
        returning members: ReturnedMembers = .record,
        idempotencyKey: String?
    ) {
        beginObject()
        databaseID(database)
        if members != .record {
            key("return")
            string(members.rawValue)
        }
        key("records")
        beginArray()
        for draft in drafts { self.draft(draft) }
        endArray()
        writeOptions(isAtomic: isAtomic, idempotencyKey: idempotencyKey)
        endObject()
    }

    /// The parameters of `record:fetch` and `record:delete`.
    package func recordIDsParameters(
        _ ids: [RecordID],
        database: DatabaseName,
        isAtomic: Bool = false,
        idempotencyKey: String? = nil
    ) {
        beginObject()
        databaseID(database)
        key("ids")
        strings(ids.map(\.description))
        writeOptions(isAtomic: isAtomic, idempotencyKey: idempotencyKey)
        endObject()
    }

    /// The parameters of `record:query`.
    package func queryParameters(_ query: RecordQuery, database: DatabaseName) {
        beginObject()
        databaseID(database)
        queryMembers(query)
        endObject()
    }

    func databaseID(_ database: DatabaseName) {
        key("database_id")
        switch database {
        case .everyone: string("_public")
        case .own: string("_private")
        case .user(let id): string(id.rawValue)
        case .union: string("_union")
        }
    }

    private func writeOptions(isAtomic: Bool, idempotencyKey: String?) {
        if isAtomic {
            key("atomic")
            boolean(true)
        }
        if let idempotencyKey {
            key("idempotency_key")
            string(idempotencyKey)
        }
    }
}
