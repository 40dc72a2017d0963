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
        "record:transfer",
        "Gives public records to another owner.",
        requires: .userOrMaster,
        scope: .records(.writing),
        cost: .write,
        effect: .once,
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .userDisabled],
        Form(
            RecordTransfer.init(ids:owner:),
            Member("ids", \.ids, .recordIDs, "The ids of records."),
            Member("to", \.owner, .userID, "The id of the new owner.")
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
