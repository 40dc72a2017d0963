import SkyrowJSON
package import SkyrowModel

// What the actions of records return.

/// The result of a write that may have an idempotency key.
package enum WriteResult<Value: Sendable>: Sendable {
    case fresh(Value)
    /// The request had an idempotency key: the text of the result, of now or of the first use of the key.
    /// It is only the result: each retry has its own envelope and id.
    case encoded([UInt8], isReplay: Bool)

    /// What a response says that has no room for the text.
    var refusalMessage: String? {
        guard case .encoded = self else { return nil }
        return "The request with this idempotency key was performed, but the response has no room for its result: "
            + "send it again by itself, with the same key."
    }
}

/// The result of `record:delete`.
package enum DeletionResult: Sendable {
    /// What happened to each record whose id was given.
    case outcomes([RecordOutcome])
    /// What happened to those that match a predicate.
    case matches(BulkResult)
}

extension Codec {
    static func write<Fresh: Sendable>(_ codec: Codec<Fresh>) -> Codec where Value == WriteResult<Fresh> {
        Codec(codec.shape) { json, name throws(SkyrowError) in
            .fresh(try codec.read(json, name))
        } write: { result, writer in
            switch result {
            case .fresh(let value): codec.write(value, writer)
            case .encoded(let bytes, isReplay: _):
                if writer.account?.exemptOne() == true { writer.liftBound() }
                bytes.withUnsafeBytes { writer.json(linking: $0) }
            }
        }
    }
}

// MARK: Outcomes

extension Codec<[RecordOutcome]> {
    /// Records by their ids, of which a response that has no room for them sends none.
    static let fetched = Codec(entries, read: read) { $1.outcomes($0) }

    /// What happened to each record, which a bound on the response cannot undo.
    static let written = Codec(entries, read: read) { $1.written($0) }

    private static let entries = JSONShape.array(of: .named(.recordEntry))

    private static let read: @Sendable (JSONView, String) throws(SkyrowError) -> [RecordOutcome] = {
        json,
        name throws(SkyrowError) in
        try outcomes(json, name) { json throws(SkyrowError) in .record(try Record(json)) }
    }

    /// - Parameter success: reads an entry that is no error.
    fileprivate static func outcomes(
        _ json: JSONView,
        _ name: String,
        _ success: (JSONView) throws(SkyrowError) -> RecordOutcome
    ) throws(SkyrowError) -> [RecordOutcome] {
        guard json.isArray else { throw .wrongType(name, "an array") }
        var outcomes: [RecordOutcome] = []
        outcomes.reserveCapacity(json.count)
        for element in json.elements {
            let isError = element["_type"]?.equals("error") ?? false
            outcomes.append(isError ? .failure(SkyrowError(element), id: element["_id"]?.string) : try success(element))
        }
        return outcomes
    }
}

extension Codec<DeletionResult> {
    static let deletion = Codec(
        .either([
            .array(of: .either([.named(.deletedEntry), .named(.entryError)])),
            .object(
                [JSONMember("deleted", .recordIDs, isRequired: true)] + JSONShape.bulkParts + [
                    JSONMember("dependents", .recordIDs), JSONMember("dependents_hidden", .integer(minimum: 1)),
                ]
            ),
        ])
    ) { json, name throws(SkyrowError) in
        if json.isObject { return .matches(BulkResult(json)) }
        return .outcomes(
            try Codec<[RecordOutcome]>.outcomes(json, name) { json throws(SkyrowError) in
                guard let id = json["_id"]?.string else { throw .invalidArgument("\"\(name)\" lacks _id.", name) }
                let dependents = DeletedDependents(json["deleted"], hidden: json["deleted_hidden"])
                return .deleted(try RecordID(readable: id), with: dependents)
            }
        )
    } write: { result, writer in
        switch result {
        case .outcomes(let outcomes): writer.written(outcomes)
        case .matches(let result): writer.bulkResult(result, deletes: true)
        }
    }
}

// MARK: Many records

extension JSONShape {
    fileprivate static let recordIDs = array(of: .named(.recordID))

    /// The members of both results besides the changed records.
    fileprivate static let bulkParts = [
        JSONMember("no_permission", recordIDs, isRequired: true),
        JSONMember("not_found", recordIDs, isRequired: true),
        JSONMember("conflict", recordIDs, isRequired: true),
        JSONMember("count", .integer(minimum: 0), isRequired: true),
    ]
}

extension Codec<BulkResult> {
    static let updated = Codec(
        .object([JSONMember("updated", .recordIDs, isRequired: true)] + JSONShape.bulkParts)
    ) { json, _ in
        BulkResult(json)
    } write: { result, writer in
        writer.bulkResult(result, deletes: false)
    }
}

extension JSONWriter {
    /// It is short, and says what has happened: no bound leaves any of it out.
    fileprivate func bulkResult(_ result: BulkResult, deletes: Bool) {
        if account?.exemptOne() == true { liftBound() }
        beginObject()
        list(deletes ? "deleted" : "updated", result.changed)
        list("no_permission", result.notPermitted)
        list("not_found", result.notFound)
        list("conflict", result.conflicting)
        member("count", result.count)
        if !result.dependents.ids.isEmpty { list("dependents", result.dependents.ids) }
        if result.dependents.hidden > 0 { member("dependents_hidden", result.dependents.hidden) }
        endObject()
    }

    private func list(_ name: StaticString, _ ids: [RecordID]) {
        key(name)
        strings(ids.map(\.description))
    }
}

extension BulkResult {
    /// Reads a result; ids that are none are left out.
    fileprivate init(_ json: JSONView) {
        self.init()
        changed = ids(json["updated"]) + ids(json["deleted"])
        notPermitted = ids(json["no_permission"])
        notFound = ids(json["not_found"])
        conflicting = ids(json["conflict"])
        dependents = DeletedDependents(json["dependents"], hidden: json["dependents_hidden"])
    }
}

extension DeletedDependents {
    fileprivate init(_ list: JSONView?, hidden: JSONView?) {
        self.init(ids: SkyrowProtocol.ids(list), hidden: hidden?.wholeNumber.flatMap { Int(exactly: $0) } ?? 0)
    }
}

private func ids(_ list: JSONView?) -> [RecordID] {
    list.map { list in list.elements.compactMap { element in element.string.flatMap { try? RecordID($0) } } } ?? []
}
