package import SkyrowJSON
package import SkyrowModel

/// The records that `record:fetch` returns or `record:delete` deletes.
package struct RecordIDsRequest: Sendable {
    package var database: DatabaseName
    package var ids: [RecordID]
    package var isAtomic: Bool
    package var idempotencyKey: String?
    /// Whether the hooks of a delete run.
    package var runsHooks: Bool

    package init(
        database: DatabaseName,
        ids: [RecordID],
        isAtomic: Bool = false,
        idempotencyKey: String? = nil,
        runsHooks: Bool = true
    ) {
        self.database = database
        self.ids = ids
        self.isAtomic = isAtomic
        self.idempotencyKey = idempotencyKey
        self.runsHooks = runsHooks
    }

    /// Of `record:fetch`, which also reads roles.
    static let form = Form(
        [
            MemberDescription(
                "ids",
                "The ids of records.",
                .array(of: .named(.recordID), minimum: 1),
                isRequired: true
            ),
            .database,
        ],
        read: { json throws(SkyrowError) in try RecordIDsRequest(parameters: json, isReading: true) },
        write: { $1.recordIDsRequest($0) }
    )
}

/// What `record:delete` deletes.
package enum RecordDeletion: Sendable {
    /// These records, each for itself or all of them.
    case ids(RecordIDsRequest)
    /// Those that match a predicate, all or none.
    case matches(BulkRequest)

    static let form = Form(
        [
            MemberDescription("ids", "The ids of records.", .nullable(.array(of: .named(.recordID), minimum: 1))),
            .database, .atomic,
            MemberDescription(
                "record_type",
                "The record type, with `predicate`.",
                .nullable(MemberDescription.recordType.shape)
            ),
            MemberDescription(
                "predicate",
                "The condition of the records, in place of `ids`: all of them are deleted, or none.",
                .nullable(.named(.predicate))
            ),
            .atMost, .dryRun, .idempotencyKey, .hooks,
        ],
        read: { json throws(SkyrowError) in
            if let request = try BulkRequest(deleteParameters: json) { return RecordDeletion.matches(request) }
            return .ids(try RecordIDsRequest(parameters: json))
        },
        write: { deletion, writer in
            switch deletion {
            case .ids(let request): writer.recordIDsRequest(request)
            case .matches(let request): writer.bulkRequest(request)
            }
        }
    )
}

// MARK: JSON

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
            idempotencyKey: idempotencyKey,
            runsHooks: try parameters.boolean("hooks") ?? true
        )
    }

    static func ids(_ list: JSONView, _ name: String, isReading: Bool = false) throws(SkyrowError) -> [RecordID] {
        guard list.isArray else { throw .wrongType(name, "an array") }
        guard list.count > 0 else { throw .invalidArgument("\"\(name)\" is empty.", name) }
        guard list.count <= WireLimits.batchCount else { throw .tooMany(name, WireLimits.batchCount) }
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

extension JSONWriter {
    fileprivate func recordIDsRequest(_ request: RecordIDsRequest) {
        beginObject()
        databaseID(request.database)
        member("ids", request.ids.map(\.description))
        writeOptions(
            isAtomic: request.isAtomic,
            idempotencyKey: request.idempotencyKey,
            runsHooks: request.runsHooks
        )
        endObject()
    }
}
