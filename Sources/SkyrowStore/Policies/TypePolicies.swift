package import SkyrowModel
package import SkyrowPostgres

/// What the table of a record type needs for roles of PostgreSQL that stand for users: policies, and what policies cannot do.
///
/// It is the third interpreter of the rules that ``AccessScope`` and ``FieldRules`` are made of: the same values become the text
/// of conditions, with functions in the place of the caller (``AccessCaller/session(_:)``).
///
/// ```swift
/// let policies = TypePolicies(of: table, deletesOthers: false)
/// policies.objects[0].statement   // CREATE POLICY "_select" ON "app"."note" FOR SELECT USING (…)
/// policies.grants.select          // the columns that every user sees of the records that are open
/// ```
package struct TypePolicies: Sendable {
    package let type: RecordTypeName
    /// In the order in which they are made.
    package let objects: [PolicyObject]
    package let grants: PolicyGrants
    /// A field whose rules the policies cannot hold.
    package let fieldBeyondPolicies: FieldName?

    /// - Parameters:
    ///   - table: with every column, and the rules of its type.
    ///   - deletesOthers: whether the delete of a record changes records that refer to it. PostgreSQL does that without asking for
    ///     rights, so such records are deleted by the service alone.
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

    /// The view with the fields that only some see; nil where there are none.
    package var view: PolicyObject? { objects.first { $0.kind == .view } }
}

/// An object that is made for a record type.
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

/// The columns that users may name in their own statements, whatever the record.
package struct PolicyGrants: Sendable {
    /// The columns that every user sees of records that are open.
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
        // Login keys have forms that the service checks.
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
        // A record without an owner is made by the service alone, which signs for its creator.
        guard rules.newOwner == .creator else { return }
        insert = reserved.map(\.rawValue) + columns(.create)
    }
}

extension SchemaCatalog {
    /// What each record table needs, in the order of the types; of a catalogue with the rules of types.
    package var policies: [TypePolicies] {
        tables.values.sorted { $0.name < $1.name }.map { table in
            TypePolicies(of: table, deletesOthers: !(deleteRules[table.name] ?? []).isEmpty)
        }
    }
}
