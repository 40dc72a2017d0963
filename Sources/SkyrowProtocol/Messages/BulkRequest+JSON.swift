package import SkyrowJSON
package import SkyrowModel

extension BulkRequest {
    /// Reads `record:update`.
    package init(updateParameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        let type = try parameters.recordType()
        let set = try parameters.required("set", parameters.object("set"))
        let change: Change
        do throws(SkyrowError) {
            change = .update(try RecordChanges(set, of: type, rules: rules), size: set.source.count)
        } catch {
            throw error.at(error.path == nil ? "set" : "set.")
        }
        let ids = try parameters.array("ids")
        if ids != nil, parameters["predicate"] != nil {
            throw .invalidArgument("Send either \"predicate\" or \"ids\", not both.", "ids").at(
                "ids"
            )
        }
        try self.init(
            parameters,
            type: type,
            match: try ids.map { list throws(SkyrowError) in .ids(try recordIDs(list, of: type, parameters)) },
            change: change,
            rules
        )
    }

    /// Reads `record:delete` by a predicate; nil for one that names ids.
    package init?(deleteParameters json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let parameters = Parameters(json)
        guard parameters["predicate"] != nil else {
            // Passed over, such a member would delete what was only asked about.
            for name: StaticString in ["dry_run", "at_most", "record_type"] where parameters[name] != nil {
                throw .invalidArgument("\"\(name)\" requires \"predicate\".", "\(name)").at("\(name)")
            }
            return nil
        }
        for name: StaticString in ["ids", "records"] where parameters[name] != nil {
            throw .invalidArgument("Send either \"predicate\" or \"ids\", not both.", "\(name)")
                .at("\(name)")
        }
        guard try parameters.boolean("atomic") != false else {
            throw .invalidArgument("Deletion by a predicate is always atomic; \"atomic\" cannot be false.", "atomic")
                .at("atomic")
        }
        try self.init(parameters, type: try parameters.recordType(), match: nil, change: .delete, rules)
    }

    /// - Parameter match: nil where a predicate says it.
    private init(
        _ parameters: Parameters,
        type: RecordTypeName,
        match: RecordMatch?,
        change: Change,
        _ rules: ReadingRules
    ) throws(SkyrowError) {
        let atMost = try parameters.integer("at_most", in: 1...BulkRequest.maximumRecords)
        let found: RecordMatch
        let limit: Int
        if let match {
            (found, limit) = (match, atMost ?? BulkRequest.maximumRecords)
        } else {
            let predicate = try parameters.required("predicate", parameters["predicate"])
            found = .predicate(try RecordPredicate(predicate))
            guard let atMost else {
                throw .invalidArgument(
                    "\"at_most\" is missing: the maximum number of records to change, 1 to \(BulkRequest.maximumRecords).",
                    "at_most"
                )
            }
            limit = atMost
        }
        let key = try parameters.idempotencyKey()
        self.init(
            database: try parameters.database(),
            type: type,
            match: found,
            change: change,
            atMost: limit,
            isDryRun: try parameters.boolean("dry_run") ?? false,
            idempotencyKey: key,
            fingerprintSource: key == nil ? [] : fingerprint(parameters)
        )
    }
}

private func recordIDs(
    _ list: JSONView,
    of type: RecordTypeName,
    _ parameters: Parameters
) throws(SkyrowError) -> [RecordID] {
    guard list.count > 0 else { throw .invalidArgument("\"ids\" is empty.", "ids") }
    guard list.count <= WireLimits.batchCount else { throw parameters.tooMany("ids", WireLimits.batchCount) }
    var ids: [RecordID] = []
    ids.reserveCapacity(list.count)
    var seen: Set<RecordID> = []
    for (place, element) in list.elements.enumerated() {
        do throws(SkyrowError) {
            let id = try RecordID(json: element)
            guard id.type == type else {
                throw SkyrowError.invalidArgument("The records must be of the type \(type).", "ids")
            }
            if seen.insert(id).inserted { ids.append(id) }
        } catch {
            throw SkyrowError.invalidArgument(error.message, "ids").at(place).at("ids")
        }
    }
    return ids
}

/// What makes two requests the same: all that they say but for the key.
private func fingerprint(_ parameters: Parameters) -> [UInt8] {
    let writer = JSONWriter(capacity: parameters.json.source.count + 64)
    writer.beginArray()
    for name: StaticString in ["record_type", "predicate", "ids", "set", "at_most", "dry_run"] {
        if let value = parameters[name] { writer.canonical(value) } else { writer.null() }
    }
    writer.endArray()
    return writer.bytes
}

extension RecordChanges {
    /// Reads `set`: fields with values or operators, and `_access`.
    fileprivate init(_ json: JSONView, of type: RecordTypeName, rules: ReadingRules) throws(SkyrowError) {
        for (name, _) in json.members where name.firstByte == UInt8(ascii: "_") && !name.equals("_access") {
            let text = excerpt(of: name.string ?? "")
            throw SkyrowError.invalidArgument("\"\(text)\" cannot be set.", "set", text).at(text)
        }
        let draft = try RecordDraft(json, as: RecordID(type: type, id: "set"), rules: rules)
        guard draft.access != nil || !draft.fields.isEmpty || !draft.operators.isEmpty else {
            throw .invalidArgument("\"set\" has no field.", "set")
        }
        self.init(draft)
    }
}

extension JSONWriter {
    /// The parameters of `record:update`, and of `record:delete` by a predicate.
    ///
    /// - Parameter changes: nil to delete.
    package func bulkParameters(
        _ match: RecordMatch,
        of type: RecordTypeName,
        changes: RecordChanges?,
        atMost: Int?,
        isDryRun: Bool,
        database: DatabaseName,
        idempotencyKey: String?
    ) {
        beginObject()
        databaseID(database)
        key("record_type")
        string(type.rawValue)
        switch match {
        case .predicate(let predicate):
            key("predicate")
            self.predicate(predicate)
        case .ids(let ids):
            key("ids")
            strings(ids.map(\.description))
        }
        if let changes {
            key("set")
            self.changes(changes)
        }
        if let atMost {
            key("at_most")
            integer(atMost)
        }
        if isDryRun {
            key("dry_run")
            boolean(true)
        }
        if let idempotencyKey {
            key("idempotency_key")
            string(idempotencyKey)
        }
        endObject()
    }

    /// The result of `record:update` and of `record:delete` by a predicate, whose name for what was changed differs.
    ///
    /// It is short, and says what has happened: no bound leaves any of it out.
    package func bulkResult(_ result: BulkResult, deletes: Bool) {
        if account?.exemptOne() == true { liftBound() }
        beginObject()
        key(deletes ? "deleted" : "updated")
        strings(result.changed.map(\.description))
        key("no_permission")
        strings(result.notPermitted.map(\.description))
        key("not_found")
        strings(result.notFound.map(\.description))
        key("conflict")
        strings(result.conflicting.map(\.description))
        key("count")
        integer(result.count)
        if !result.dependents.ids.isEmpty {
            key("dependents")
            strings(result.dependents.ids.map(\.description))
        }
        if result.dependents.hidden > 0 {
            key("dependents_hidden")
            integer(result.dependents.hidden)
        }
        endObject()
    }
}

extension BulkResult {
    /// Reads a result; ids that are none are left out.
    package init(_ json: JSONView) {
        func ids(_ name: StaticString) -> [RecordID] {
            json[name].map { list in
                list.elements.compactMap { element in element.string.flatMap { try? RecordID($0) } }
            } ?? []
        }
        self.init()
        changed = ids("updated") + ids("deleted")
        notPermitted = ids("no_permission")
        notFound = ids("not_found")
        conflicting = ids("conflict")
        dependents = DeletedDependents(
            ids: ids("dependents"),
            hidden: json["dependents_hidden"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 0
        )
    }
}
