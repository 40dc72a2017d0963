/// The changes to make in each of several records: values, operators and the access list, without an id.
public struct RecordChanges: Hashable, Sendable {
    /// A draft whose id and precondition are ignored.
    package let draft: RecordDraft

    package init(_ draft: RecordDraft) {
        self.draft = draft
    }

    /// Returns the draft that makes these changes to a record.
    package func draft(of id: RecordID) -> RecordDraft {
        RecordDraft(id: id, access: draft.access, fields: draft.fields, operators: draft.operators)
    }

    /// The fields that get a value or have an operator.
    package var fields: [FieldName] { draft.fields.map(\.name) + draft.operators.map(\.name) }
}

/// The outcome for the records of a request, by their ids.
public struct BulkResult: Hashable, Sendable {
    /// The updated or deleted records, in the order of their ids.
    public var changed: [RecordID] = []
    /// The records that the caller may read but not change this way.
    public var notPermitted: [RecordID] = []
    /// The requested ids of records that do not exist, or that the caller may not read.
    public var notFound: [RecordID] = []
    /// The records that others changed or deleted meanwhile, so that they no longer match.
    public var conflicting: [RecordID] = []
    /// The records that the rules of references deleted with the deleted ones.
    public var dependents = DeletedDependents.none

    public init() {}

    /// The number of matching records.
    public var count: Int { changed.count + notPermitted.count + conflicting.count }
}
