package import SkyrowModel
package import SkyrowPostgres

/// What a record type's table needs for PostgreSQL roles that represent users: policies, and what these cannot express.
///
/// It is the third interpreter of the rules behind ``AccessScope`` and ``FieldRules``: the same values become conditions in
/// SQL, with functions in place of the caller (``AccessCaller/session(_:)``).
///
/// ```swift
/// let policies = TypePolicies(of: table, deletesOthers: false)
/// policies.objects[0].statement   // CREATE POLICY "_select" ON "app"."note" FOR SELECT USING (…)
/// policies.grants.select          // the columns that every user sees of the records that are open
/// ```
package struct TypePolicies: Sendable {
    package let type: RecordTypeName
    /// The objects in the order of their creation.
    package let objects: [PolicyObject]
    package let grants: PolicyGrants
    /// A field whose rules policies cannot enforce.
    package let fieldBeyondPolicies: FieldName?

    /// - Parameters:
    ///   - table: the table with all columns, and the rules of its type.
    ///   - deletesOthers: whether deleting a record changes records that refer to it. PostgreSQL does that without checking
    ///     rights, so only the service may delete such records.
    package init(of table: RecordTable, deletesOthers: Bool) {
        let text = PolicyText(table)
        let grants = PolicyGrants(of: table, deletesOthers: deletesOthers)
        type = table.name
        fieldBeyondPolicies = table.rules.fields.fieldBeyondPolicies
        self.grants = grants
        var objects = [text.select]
        if !grants.insert.isEmpty { objects.append(text.insert(grants.insert)) }
        if !grants.update.isEmpty { objects.append(text.update) }
        if grants.deletes { objects.append(text.delete) }
        if !grants.insert.isEmpty { objects.append(text.signatureOfNew) }
        if !grants.update.isEmpty { objects.append(text.signatureOfChange) }
        objects += text.guards(of: grants.update)
        if let view = text.view { objects.append(view) }
        self.objects = objects
    }

    /// The view that hides fields from some users; nil if there are no such fields.
    package var view: PolicyObject? { objects.first { $0.kind == .view } }
}

/// A database object of a record type.
package struct PolicyObject: Sendable {
    package enum Kind: String, Hashable, Sendable {
        case policy
        case trigger
        case view
    }

    package let kind: Kind
    package let name: String
    package let statement: SQL
}

/// The columns that users may name in their own statements, in any record.
package struct PolicyGrants: Sendable {
    /// The columns that every user sees in accessible records.
    package private(set) var select: [String]
    package private(set) var insert: [String] = []
    package private(set) var update: [String] = []
    /// Whether records may be deleted.
    package private(set) var deletes = false

    fileprivate init(of table: RecordTable, deletesOthers: Bool) {
        let rules = table.rules
        let fields = table.columns.filter { if case .relation = $0.type { false } else { true } }
        select =
            ReservedColumn.allCases.filter { $0 != .access || rules.listReadTerms.isEmpty }.map(\.rawValue)
            + fields.filter { rules.fields.terms(.read, of: $0.field).isEmpty }.map(\.identifier.name)
        // The service validates the form of login keys.
        let written = fields.filter {
            $0.isWritable && $0.type != .sequence && !rules.loginKeys.contains($0.field)
        }
        func columns(_ use: FieldUse) -> [String] {
            written.filter { column in
                !rules.fields.terms(use, of: column.field).contains(where: \.isEmpty)
            }.map(\.identifier.name)
        }
        update = [ReservedColumn.access.rawValue] + columns(.update)
        guard rules.origin == .saves else { return }
        deletes = !deletesOthers
        let reserved: [ReservedColumn] = [.id, .database, .owner, .access]
        // Only the service creates records without an owner and records their creators.
        guard rules.newOwner == .creator else { return }
        insert = reserved.map(\.rawValue) + columns(.create)
    }
}

extension SchemaCatalog {
    /// The policies of each record table, in the order of the types; requires a catalog with the rules of types.
    package var policies: [TypePolicies] {
        sortedTables.map { table in
            TypePolicies(of: table, deletesOthers: !(deleteRules[table.name] ?? []).isEmpty)
        }
    }
}
