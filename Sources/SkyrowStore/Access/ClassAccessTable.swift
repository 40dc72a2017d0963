package import SkyrowModel
package import SkyrowPostgres

/// The stored rules of record types: who creates, reads, changes and deletes their records.
package struct ClassAccessTable: StoreTable, Sendable {
    let store: RecordStore

    /// Returns the rules of a type, which need not exist.
    package func access(of type: RecordTypeName) async throws(SkyrowError) -> ClassAccess {
        try await store.reporting {
            try await Self.access(of: type, in: schema) { try await store.client.read($0) }
        }
    }

    /// Changes the rules of a type and returns the result, which is in effect in this process on return.
    ///
    /// A type and a field may have rules before they exist. Throws `108 InvalidArgument` for a field that cannot hold user ids,
    /// for a default list that no record may have, for a rule with more subjects than the settings allow, and for more fields
    /// with rules than a type may have.
    package func change(
        _ change: ClassAccessChange,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> ClassAccess {
        try await change.requireFields(of: store.table(of: change.type))
        try change.requireLengths(maximum: store.maximumAccessEntries)
        try (change.defaultAccess ?? nil)?.requireDefault(maximumEntries: store.maximumAccessEntries)
        return try await store.reporting {
            let access = try await patiently {
                try await store.client.withTransaction { transaction in
                    // A rule that names fields adds a trigger to the table.
                    try await transaction.limitLockWaits()
                    // Serializes changes: each is based on the result of the one before.
                    _ = try await transaction.query(
                        "SELECT FROM \(schema.internal)._version WHERE name = 'rules' FOR UPDATE"
                    )
                    let access = try await Self.access(of: change.type, in: schema) { try await transaction.query($0) }
                        .applying(change)
                    guard access.fields.count <= ClassAccess.maximumFields else { throw SkyrowError.tooManyRuledFields }
                    for statement in Self.statements(access, of: change, in: schema) {
                        _ = try await transaction.query(statement)
                    }
                    if let event { _ = try await transaction.query(Self.recording(event, of: change.type, in: schema)) }
                    return access
                }
            }
            try await store.cache.reload(.types([change.type]))
            return access
        }
    }

    private static func question(_ type: RecordTypeName, in schema: SQLIdentifier) -> SQL {
        "SELECT access FROM (\(ClassAccess.rows(in: schema))) AS item WHERE type = \(type.rawValue)"
    }

    /// Returns the statement that stores the present rules of a type in the audit log.
    package static func recording(_ event: AuditEvent, of type: RecordTypeName, in schema: SQLIdentifier) -> SQL {
        event.insertion(
            into: schema,
            from: "(SELECT) AS one LEFT JOIN (\(question(type, in: schema))) AS item ON true",
            data: "jsonb_build_object('type', \(type.rawValue)::text, 'access', item.access::jsonb)"
        )
    }

    /// Returns the stored rules of a type, which need not exist.
    package static func access(
        of type: RecordTypeName,
        in schema: SQLIdentifier,
        _ query: (SQL) async throws -> PostgresResult
    ) async throws -> ClassAccess {
        try await query(question(type, in: schema)).first().map { ClassAccess(storedJSON: $0) } ?? ClassAccess()
    }

    /// Returns the statements that store the rules of a type after a change.
    package static func statements(
        _ access: ClassAccess,
        of change: ClassAccessChange,
        in schema: SQLIdentifier
    ) -> [SQL] {
        let type = change.type.rawValue
        var statements = change.sortedRules.map { action, rule -> SQL in
            guard let rule else {
                return "DELETE FROM \(schema.internal)._class_rule WHERE type = \(type) AND action = \(action.rawValue)"
            }
            return """
                INSERT INTO \(schema.internal)._class_rule (type, action, allow, mode)
                VALUES (\(type), \(action.rawValue), \(rule.allow.map(\.key)), \(rule.mode.rawValue))
                ON CONFLICT (type, action) DO UPDATE SET allow = EXCLUDED.allow, mode = EXCLUDED.mode
                """
        }
        statements += change.fieldRules.map { field, use, allow -> SQL in
            guard let allow else {
                return """
                    DELETE FROM \(schema.internal)._field_rule
                    WHERE type = \(type) AND field = \(field) AND action = \(use.rawValue)
                    """
            }
            return """
                INSERT INTO \(schema.internal)._field_rule (type, field, action, allow)
                VALUES (\(type), \(field), \(use.rawValue), \(allow.keys))
                ON CONFLICT (type, field, action) DO UPDATE SET allow = EXCLUDED.allow
                """
        }
        if change.changesOptions {
            let row: NewRow = [
                "default_access": "\(access.defaultAccess.map { PostgresJSONB($0.storedJSON) } as PostgresJSONB?)",
                "list_by": "\(access.listWriters?.rawValue as String?)",
                "list_read_by": "\(access.listReaders?.rawValue as String?)",
                "transfer_by": "\(access.transferrers.rawValue)", "creator": "\(access.newOwner.rawValue)",
                "private": "\(access.allowsPrivate)", "aggregate": "\(access.allowsAggregates)",
            ]
            statements.append(
                """
                INSERT INTO \(schema.internal)._class_option (type, \(row.names)) VALUES (\(type), \(row.values))
                ON CONFLICT (type) DO UPDATE SET \(row.replacements)
                """
            )
        }
        return statements
    }
}

extension SkyrowError {
    fileprivate static let tooManyRuledFields = SkyrowError.invalidArgument(
        "At most \(ClassAccess.maximumFields) fields of a type can have rules.",
        "fields"
    ).at("fields")
}

extension AccessList {
    /// Throws `108 InvalidArgument` for a list that no record may have; `info.path` names `default_access`, or its entry.
    package func requireDefault(maximumEntries: Int) throws(SkyrowError) {
        do throws(SkyrowError) { try requireStorable(maximumEntries: maximumEntries) } catch {
            throw error.aboutDefaultAccess
        }
    }
}

extension ClassAccessChange {
    fileprivate var changesOptions: Bool {
        defaultAccess != nil || listWriters != nil || listReaders != nil || transferrers != nil || newOwner != nil
            || allowsPrivate != nil || allowsAggregates != nil
    }

    /// The rules of actions in a fixed order.
    fileprivate var sortedRules: [(action: ClassAction, rule: ClassRule?)] {
        rules.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
    }

    /// The rules of fields in a fixed order, and then those of every field.
    fileprivate var fieldRules: [(field: String, use: FieldUse, allow: FieldSubjects?)] {
        (fields.sorted { $0.key < $1.key }.map { ($0.key.rawValue, $0.value) } + [(ClassAccess.everyName, everyField)])
            .flatMap { field, uses in
                uses.sorted { $0.key.rawValue < $1.key.rawValue }.map { (field, $0.key, $0.value) }
            }
    }

    /// Throws `108 InvalidArgument` for a rule with more subjects than the settings allow.
    fileprivate func requireLengths(maximum: Int) throws(SkyrowError) {
        let tooMany = "A rule can name at most \(maximum) subjects."
        for (action, rule) in sortedRules where rule?.allow.count ?? 0 > maximum {
            throw SkyrowError.invalidArgument(tooMany, "rules").at("rules.\(action.rawValue).allow")
        }
        for (field, use, allow) in fieldRules where allow?.entries.count ?? 0 > maximum {
            throw SkyrowError.invalidArgument(tooMany, "fields").at("fields.\(field).\(use.rawValue)")
        }
    }

    /// Throws `108 InvalidArgument` for a rule about a field that cannot hold user ids.
    ///
    /// - Parameter table: the table of the type; nil if the type does not exist.
    fileprivate func requireFields(of table: RecordTable?) throws(SkyrowError) {
        func require(_ subjects: [Subject]?, _ argument: String, _ path: String) throws(SkyrowError) {
            for (place, subject) in (subjects ?? []).enumerated() {
                guard case .field(let name) = subject else { continue }
                if let type = table?[name]?.type, MemberField(name, of: type) != nil { continue }
                throw SkyrowError.invalidArgument(
                    "The type has no field \(name) that holds strings or references to users.",
                    argument
                ).at("\(path)[\(place)]")
            }
        }
        for (action, rule) in sortedRules { try require(rule?.allow, "rules", "rules.\(action.rawValue).allow") }
        for (field, use, allow) in fieldRules {
            try require(allow?.subjects, "fields", "fields.\(field).\(use.rawValue)")
        }
    }
}
