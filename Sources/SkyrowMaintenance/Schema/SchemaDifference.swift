package import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// What a schema file asks for that a database does not have, and what the database has otherwise than Skyrow makes it.
///
/// ```swift
/// let difference = SchemaDifference(document, inventory)
/// difference.changes    // in the order in which they can be made
/// ```
package struct SchemaDifference: Hashable, Sendable {
    /// A change, and what is lost by it.
    package struct Change: Hashable, Sendable {
        package var change: SchemaFileChange
        package var loss: SchemaLoss?
    }

    package internal(set) var changes: [Change] = []
    /// What is not accepted, of the types and fields that stay; by the names they will have.
    package internal(set) var drift: [SchemaDrift] = []
    /// Why some of it cannot be done, a sentence each.
    package internal(set) var refusals: [String] = []

    /// Whether file and database say the same.
    package var isEmpty: Bool { changes.isEmpty && drift.isEmpty && refusals.isEmpty }

    /// What to do, in an order in which it can be done.
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

/// Data that a change takes away, by the names that types and fields have before it.
package enum SchemaLoss: Hashable, Sendable {
    /// Every record of a type.
    case records(RecordTypeName)
    /// The value of a field, in every record that has one.
    case values(FieldName, RecordTypeName)
    /// The values of a field that its new type does not hold.
    case misfits(FieldName, FieldConversion, RecordTypeName)
}

extension SchemaFileChange {
    /// Names change first, then there is more, then there is other, then there is less.
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
