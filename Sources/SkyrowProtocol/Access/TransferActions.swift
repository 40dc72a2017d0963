import SkyrowJSON
public import SkyrowModel

/// The records that `record:transfer` gives to another owner.
public struct RecordTransfer: Hashable, Sendable {
    public var ids: [RecordID]
    /// The new owner.
    public var owner: UserID

    public init(ids: [RecordID], owner: UserID) {
        self.ids = ids
        self.owner = owner
    }
}

extension Actions {
    /// Gives public records to another owner; the result has an outcome for each id, in the order of the ids.
    package static let recordTransfer = Action<RecordTransfer, [RecordOutcome]>(
        .recordTransfer,
        "Gives public records to another owner.",
        requires: .userOrMaster,
        cost: .write,
        effect: .once,
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .userDisabled],
        Form(
            RecordTransfer.init(ids:owner:),
            Member("ids", \.ids, .recordIDs, "Record ids."),
            Member("to", \.owner, .userID, "The id of the user whose they are to be.")
        ),
        result: .written
    )
}

extension Codec<[RecordID]> {
    /// At least one id and no more than a batch has, each as text or in the newer form of Skygear.
    fileprivate static let recordIDs = Codec(
        .array(of: .named(.recordID), minimum: 1, maximum: WireLimits.batchCount)
    ) { json, name throws(SkyrowError) in
        try RecordIDsRequest.ids(json, name)
    } write: { ids, writer in
        writer.strings(ids.map(\.description))
    }
}

extension Codec<[RecordOutcome]> {
    /// What happened to each record, which a bound on the response cannot undo.
    package static let written = Codec(.array(of: .named(.recordEntry))) { json, name throws(SkyrowError) in
        guard json.isArray else { throw .wrongType(name, "an array") }
        var outcomes: [RecordOutcome] = []
        outcomes.reserveCapacity(json.count)
        for element in json.elements {
            switch try RecordEntry(element) {
            case .record(let record): outcomes.append(.record(record))
            case .failure(let error, let id): outcomes.append(.failure(error, id: id))
            }
        }
        return outcomes
    } write: { outcomes, writer in
        writer.written(outcomes)
    }
}
