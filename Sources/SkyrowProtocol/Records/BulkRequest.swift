package import SkyrowJSON
package import SkyrowModel

/// The records of a request that changes many at once.
package enum RecordMatch: Sendable {
    /// The records that the caller may read and that match the predicate.
    case predicate(RecordPredicate)
    case ids([RecordID])

    fileprivate var isPredicate: Bool { if case .predicate = self { true } else { false } }
}

/// The records that `record:update` changes, or that `record:delete` deletes by a predicate.
package struct BulkRequest: Sendable {
    package enum Change: Sendable {
        /// - Parameter size: the size of the changes in bytes of JSON.
        case update(RecordChanges, size: Int)
        case delete
    }

    /// Upper bound on the records of one request.
    package static let maximumRecords = 10_000
    /// Upper bound on the bytes that one request may write: the size of its changes times the number of records.
    package static let maximumBytes = 64 << 20

    package var database: DatabaseName
    package var type: RecordTypeName
    package var match: RecordMatch
    package var change: Change
    /// When more records match than this, nothing is changed.
    package var atMost: Int
    /// Whether nothing is changed, and the result reports what would be.
    package var isDryRun: Bool
    /// Up to 64 bytes; a retry with the same key gets the first result.
    package var idempotencyKey: String?
    /// The bytes from which the SHA-256 of the request's canonical text is computed when a key is given.
    package var fingerprintSource: [UInt8]
    /// Whether hooks run.
    package var runsHooks: Bool

    package init(
        database: DatabaseName,
        type: RecordTypeName,
        match: RecordMatch,
        change: Change,
        atMost: Int = BulkRequest.maximumRecords,
        isDryRun: Bool = false,
        idempotencyKey: String? = nil,
        fingerprintSource: [UInt8] = [],
        runsHooks: Bool = true
    ) {
        self.database = database
        self.type = type
        self.match = match
        self.change = change
        self.atMost = atMost
        self.isDryRun = isDryRun
        self.idempotencyKey = idempotencyKey
        self.fingerprintSource = fingerprintSource
        self.runsHooks = runsHooks
    }

    /// Of `record:update`.
    static func form(_ rules: ReadingRules) -> Form<BulkRequest> {
        Form(
            [
                .recordType,
                MemberDescription(
                    "set",
                    "The fields to set, with values or operators, and `_access`.",
                    .object([JSONMember("_access", JSONShape.accessList)], others: .named(.value)),
                    isRequired: true
                ),
                .database,
                MemberDescription("predicate", "The condition of the records.", .nullable(.named(.predicate))),
                MemberDescription(
                    "ids",
                    "The ids of records, in place of `predicate`.",
                    .nullable(.array(of: .named(.recordID), minimum: 1))
                ),
                .atMost, .dryRun, .idempotencyKey, .hooks,
            ],
            read: { json throws(SkyrowError) in try BulkRequest(updateParameters: json, rules: rules) },
            write: { $1.bulkRequest($0) }
        )
    }
}

extension MemberDescription {
    static let atMost = MemberDescription(
        "at_most",
        "The number of records that may match at most; if more match, nothing is changed. Required with `predicate`.",
        .nullable(.integer(minimum: 1, maximum: BulkRequest.maximumRecords))
    )
    static let dryRun = MemberDescription(
        "dry_run",
        "Whether to change nothing, and to return what would be changed.",
        .nullable(.boolean)
    )
}

// MARK: JSON

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
            throw .invalidArgument("Send either \"predicate\" or \"ids\", not both.", "ids").at("ids")
        }
        try self.init(
            parameters,
            type: type,
            match: try ids.map { list throws(SkyrowError) in .ids(try recordIDs(list, of: type, parameters)) },
            change: change
        )
    }

    /// Reads `record:delete` by a predicate; nil for one that names ids.
    package init?(deleteParameters json: JSONView) throws(SkyrowError) {
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
        try self.init(parameters, type: try parameters.recordType(), match: nil, change: .delete)
    }

    /// - Parameter match: nil where a predicate says it.
    private init(
        _ parameters: Parameters,
        type: RecordTypeName,
        match: RecordMatch?,
        change: Change
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
            fingerprintSource: key == nil ? [] : fingerprint(parameters),
            runsHooks: try parameters.boolean("hooks") ?? true
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
    if parameters["hooks"]?.boolean == false { writer.string("hooks") }
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
    func bulkRequest(_ request: BulkRequest) {
        beginObject()
        databaseID(request.database)
        member("record_type", request.type.rawValue)
        switch request.match {
        case .predicate(let predicate):
            key("predicate")
            self.predicate(predicate)
        case .ids(let ids):
            member("ids", ids.map(\.description))
        }
        if case .update(let changes, size: _) = request.change {
            key("set")
            self.changes(changes)
        }
        if request.match.isPredicate || request.atMost != BulkRequest.maximumRecords {
            member("at_most", request.atMost)
        }
        if request.isDryRun { member("dry_run", true) }
        writeOptions(isAtomic: false, idempotencyKey: request.idempotencyKey, runsHooks: request.runsHooks)
        endObject()
    }
}
