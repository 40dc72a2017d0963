package import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// The difference between a schema file and a database: the changes the file asks for, and the drift from Skyrow's schema.
///
/// ```swift
/// let difference = SchemaDifference(document, inventory)
/// difference.changes    // in the order in which they can be made
/// ```
package struct SchemaDifference: Hashable, Sendable {
    /// A change, and the data loss it causes.
    package struct Change: Hashable, Sendable {
        package var change: SchemaFileChange
        package var loss: SchemaLoss?
    }

    package internal(set) var changes: [Change] = []
    /// Drift that the file does not accept, of the types and fields that stay, by their new names.
    package internal(set) var drift: [SchemaDrift] = []
    /// What cannot be done, a sentence each.
    package internal(set) var refusals: [String] = []

    /// Whether file and database agree.
    package var isEmpty: Bool { changes.isEmpty && drift.isEmpty && refusals.isEmpty }

    /// Returns the changes in an order in which they can be made.
    package func plan(repairing: Bool) -> [SchemaFileChange] {
        let repairs = repairing ? drift.filter(\.isRepairable).map { SchemaFileChange.repair($0) } : []
        return changes.map(\.change) + repairs
    }

    package init(_ document: SchemaDocument, _ inventory: SchemaInventory) {
        let comparison = SchemaComparison(document, inventory)
        changes = comparison.changes.enumerated()
            .sorted { ($0.element.change.phase, $0.offset) < ($1.element.change.phase, $1.offset) }
            .map(\.element)
        refusals = comparison.refusals
        drift = comparison.drift.filter { !document.acceptedDrift.contains($0.key) }
    }
}

/// Data that a change deletes, by the type and field names before the change.
package enum SchemaLoss: Hashable, Sendable {
    /// Every record of a type.
    case records(RecordTypeName)
    /// The value of a field, in every record that has one.
    case values(FieldName, RecordTypeName)
    /// The values that do not fit the field's new type.
    case misfits(FieldName, FieldConversion, RecordTypeName)
}

extension SchemaFileChange {
    /// The sort order of the change: renames, additions, modifications, deletions.
    fileprivate var phase: Int {
        switch self {
        case .renameType: 0
        case .common(.renameField), .common(.renameRelation): 1
        case .common(.createType): 2
        case .common(.addField): 3
        case .deleteIndex: 4
        case .common(.widenField), .convertField, .setDeleteRule, .setTextLanguage: 5
        case .setDefault: 6
        case .common(.deleteField), .common(.deleteRelation): 7
        case .deleteType: 8
        case .createIndex: 9
        case .setComment, .setAccess, .setAccessOfAll, .setLive, .setSync: 10
        case .repair: 11
        }
    }
}
