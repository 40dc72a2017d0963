internal import SkyrowJSON
package import SkyrowModel
import SkyrowPostgres

/// The field rules of all types, as far as Skygear's `schema:field_access:get` and `schema:field_access:update` can express them.
package struct SkygearFieldRuleTable: StoreTable, Sendable {
    let store: RecordStore

    /// Returns the rules that Skygear's form can express, in its order.
    package func rules() async throws(SkyrowError) -> [SkygearFieldRule] {
        stored(try await store.read(Self.columns) { _ in question }).skygearRules
    }

    /// Replaces the rules that Skygear's form can express, and returns the resulting ones, which are in effect in this process on
    /// return.
    ///
    /// Types and fields may have rules before they exist. Throws `108 InvalidArgument`, and changes nothing, for rules that
    /// ``StoredFieldRules/replacingSkygearRules(_:)`` refuses, and for a rule that names a field of an existing type that cannot
    /// hold user ids.
    package func replace(
        _ rules: [SkygearFieldRule],
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> [SkygearFieldRule] {
        for (place, rule) in rules.enumerated() {
            guard case .field(let name) = rule.subject, let type = rule.scope.type,
                let table = try await store.table(of: type)
            else { continue }
            if let fieldType = table[name]?.type, MemberField(name, of: fieldType) != nil { continue }
            throw SkyrowError.invalidArgument(
                "The type \(type) has no field \(name) that holds strings or references to users.",
                "access"
            ).at("access[\(place)].user_role")
        }
        return try await store.reporting {
            let (result, changed) = try await store.client.withTransaction { transaction in
                // Serializes changes: each is based on the result of the one before.
                _ = try await transaction.query(
                    "SELECT FROM \(schema.internal)._version WHERE name = 'rules' FOR UPDATE"
                )
                let known = stored(try await transaction.query(question).rows(Self.columns))
                let new = try known.replacingSkygearRules(rules)
                let changed = Set(known.rules.keys).union(new.rules.keys).filter { known.rules[$0] != new.rules[$0] }
                if !changed.isEmpty {
                    _ = try await transaction.query(removal(of: changed))
                    _ = try await transaction.query(insertion(of: new.rules.filter { changed.contains($0.key) }))
                }
                if let event { _ = try await transaction.query(recording(event)) }
                return (new.skygearRules, changed)
            }
            let types = changed.map(\.type)
            if types.contains(nil) {
                try await store.cache.reload()
            } else if !types.isEmpty {
                try await store.cache.reload(.types(Set(types.compactMap { $0 })))
            }
            return result
        }
    }

    private var question: SQL {
        "SELECT \(Self.columns.list) FROM \(schema.internal)._field_rule GROUP BY type, field"
    }

    private static let columns = Columns(
        { (type: String, field: String, uses: String) in
            try FieldRuleScope(storedType: type, field: field).map { scope in
                (scope, try JSONDocument(Array(uses.utf8)).withRoot { FieldRuleGroups.Uses(stored: $0) })
            }
        },
        "type",
        "field",
        "jsonb_object_agg(action, to_jsonb(allow))::text AS uses"
    )

    private func stored(_ rows: [(FieldRuleScope, FieldRuleGroups.Uses)?]) -> StoredFieldRules {
        var stored = StoredFieldRules()
        for case (let scope, let uses)? in rows { stored.rules[scope] = uses }
        return stored
    }

    private func removal(of scopes: Set<FieldRuleScope>) -> SQL {
        let scopes = scopes.sorted()
        return """
            DELETE FROM \(schema.internal)._field_rule AS rule USING unnest(
                \(scopes.map(\.storedType)), \(scopes.map(\.storedField))
            ) AS gone (type, field)
            WHERE rule.type = gone.type AND rule.field = gone.field
            """
    }

    private func insertion(of rules: [FieldRuleScope: FieldRuleGroups.Uses]) -> SQL {
        let writer = JSONWriter()
        writer.beginArray()
        for (scope, uses) in rules.sorted(by: { $0.key < $1.key }) {
            for use in FieldUse.allCases {
                guard let allow = uses[use] else { continue }
                writer.beginObject()
                writer.member("type", scope.storedType)
                writer.member("field", scope.storedField)
                writer.member("action", use.rawValue)
                writer.member("allow", allow.keys)
                writer.endObject()
            }
        }
        writer.endArray()
        return """
            INSERT INTO \(schema.internal)._field_rule (type, field, action, allow)
            SELECT type, field, action, allow
            FROM jsonb_to_recordset(\(PostgresJSONB(utf8: writer.bytes)))
                AS rule (type text, field text, action text, allow text[])
            """
    }

    /// Returns the statement that records the present field rules.
    private func recording(_ event: AuditEvent) -> SQL {
        event.insertion(
            into: schema,
            from:
                "(SELECT jsonb_object_agg(type || '.' || field, uses::jsonb) AS fields FROM (\(question)) AS item) AS one",
            data: "jsonb_build_object('fields', coalesce(one.fields, '{}'))"
        )
    }
}

extension FieldRuleScope {
    fileprivate var storedType: String { type?.rawValue ?? ClassAccess.everyName }
    fileprivate var storedField: String { field?.rawValue ?? ClassAccess.everyName }

    /// Returns nil for names from psql that no type or field can have.
    fileprivate init?(storedType: String, field storedField: String) {
        self.init(type: try? RecordTypeName(storedType), field: try? FieldName(storedField))
        guard type != nil || storedType == ClassAccess.everyName,
            field != nil || storedField == ClassAccess.everyName, field?.isReserved != true
        else { return nil }
    }
}
