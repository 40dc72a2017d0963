package import SkyrowModel
package import SkyrowPostgres

/// The stored rules of record types: who creates, reads, changes and deletes their records.
package struct ClassAccessTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Returns the rules of a type, which need not exist.
    package func access(of type: RecordTypeName) async throws(SkyrowError) -> ClassAccess {
        try await store.reporting {
            try Self.access(in: try await store.client.read(question(type)))
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
                    let access = try Self.access(in: try await transaction.query(question(change.type))).applying(
                        change
                    )
                    guard access.fields.count <= ClassAccess.maximumFields else { throw SkyrowError.tooManyRuledFields }
                    for statement in statements(access, of: change) { _ = try await transaction.query(statement) }
                    if let event { _ = try await transaction.query(Self.recording(event, of: change.type, in: schema)) }
                    return access
                }
            }
            try await store.cache.reload(.types([change.type]))
            return access
        }
    }

    private func question(_ type: RecordTypeName) -> SQL {
        Self.question(type, in: schema)
    }

    private static func question(_ type: RecordTypeName, in schema: SQLIdentifier) -> SQL {
        "SELECT access FROM (\(ClassAccess.rows(in: schema))) AS item WHERE type = \(type.rawValue)"
    }

    /// Returns the statement that stores the present rules of a type in the audit log.
    package static func recording(_ event: AuditEvent, of type: RecordTypeName, in schema: SQLIdentifier) -> SQL {
        event.insertion(
            into: schema,
            from: "(SELECT) AS one LEFT JOIN (\(question(type, in: schema))) AS item ON true",
            user: "NULL",
            data: "jsonb_build_object('type', \(type.rawValue)::text, 'access', item.access::jsonb)"
        )
    }

    private static func access(in result: PostgresResult) throws(PostgresError) -> ClassAccess {
        result.isEmpty ? ClassAccess() : ClassAccess(storedJSON: try result.decode(row: 0, column: 0))
    }

    private func statements(_ access: ClassAccess, of change: ClassAccessChange) -> [SQL] {
        Self.statements(access, of: change, in: schema)
    }

    /// Returns the statements that store the rules of a type after a change.
    package static func statements(
        _ access: ClassAccess,
        of change: ClassAccessChange,
        in schema: SQLIdentifier
    ) -> [SQL] {
        let type = change.type.rawValue
        var statements = change.rules.keys.sorted { $0.rawValue < $1.rawValue }.map { action -> SQL in
            guard let rule = access.rules[action] else {
                return "DELETE FROM \(schema.internal)._class_rule WHERE type = \(type) AND action = \(action.rawValue)"
            }
            return """
                INSERT INTO \(schema.internal)._class_rule (type, action, allow, mode)
                VALUES (\(type), \(action.rawValue), \(rule.allow.map(\.key)), \(rule.mode.rawValue))
                ON CONFLICT (type, action) DO UPDATE SET allow = EXCLUDED.allow, mode = EXCLUDED.mode
                """
        }
        let fields = change.fields.sorted { $0.key < $1.key }.map { field, uses in
            (name: field.rawValue, changed: uses.keys, rules: access.fields[field] ?? [:])
        }
        for field in fields + [(ClassAccess.everyName, change.everyField.keys, access.everyField)] {
            for use in field.changed.sorted(by: { $0.rawValue < $1.rawValue }) {
                guard let allow = field.rules[use] else {
                    statements.append(
                        """
                        DELETE FROM \(schema.internal)._field_rule
                        WHERE type = \(type) AND field = \(field.name) AND action = \(use.rawValue)
                        """
                    )
                    continue
                }
                statements.append(
                    """
                    INSERT INTO \(schema.internal)._field_rule (type, field, action, allow)
                    VALUES (\(type), \(field.name), \(use.rawValue), \(allow.keys))
                    ON CONFLICT (type, field, action) DO UPDATE SET allow = EXCLUDED.allow
                    """
                )
            }
        }
        if change.changesOptions {
            let list = access.defaultAccess.map { PostgresJSONB($0.storedJSON) }
            statements.append(
                SQL(
                    """
                    INSERT INTO \(schema.internal)._class_option (type, default_access, list_by, list_read_by, transfer_by, creator, private,
                        aggregate)
                    VALUES (\(type), \(list), \(access.listWriters?.rawValue), \(access.listReaders?.rawValue),
                        \(access.transferrers.rawValue), \(access.newOwner.rawValue), \(access.allowsPrivate), \(access.allowsAggregates))
                    ON CONFLICT (type) DO UPDATE SET default_access = EXCLUDED.default_access, list_by = EXCLUDED.list_by,
                        list_read_by = EXCLUDED.list_read_by, transfer_by = EXCLUDED.transfer_by,
                        creator = EXCLUDED.creator, private = EXCLUDED.private, aggregate = EXCLUDED.aggregate
                    """
                )
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

    /// Throws `108 InvalidArgument` for a rule with more subjects than the settings allow.
    fileprivate func requireLengths(maximum: Int) throws(SkyrowError) {
        let tooMany = "A rule can name at most \(maximum) subjects."
        for (action, rule) in rules.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where rule?.allow.count ?? 0 > maximum {
            throw SkyrowError.invalidArgument(tooMany, "rules").at("rules.\(action.rawValue).allow")
        }
        let named = fields.sorted { $0.key < $1.key }.map { (name: $0.key.rawValue, uses: $0.value) }
        for field in named + [(ClassAccess.everyName, everyField)] {
            for (use, allow) in field.uses.sorted(by: { $0.key.rawValue < $1.key.rawValue })
            where allow?.entries.count ?? 0 > maximum {
                throw SkyrowError.invalidArgument(tooMany, "fields").at("fields.\(field.name).\(use.rawValue)")
            }
        }
    }

    /// Throws `108 InvalidArgument` for a rule about a field that cannot hold user ids.
    ///
    /// - Parameter table: the table of the type; nil if the type does not exist.
    fileprivate func requireFields(of table: RecordTable?) throws(SkyrowError) {
        for (action, rule) in rules.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for (place, subject) in (rule?.allow ?? []).enumerated() {
                guard case .field(let name) = subject else { continue }
                if let type = table?[name]?.type, MemberField(name, of: type) != nil { continue }
                throw SkyrowError.invalidArgument(
                    "The type has no field \(name) that holds strings or references to users.",
                    "rules"
                ).at("rules.\(action.rawValue).allow[\(place)]")
            }
        }
        let named = fields.sorted { $0.key < $1.key }.map { (name: $0.key.rawValue, uses: $0.value) }
        for field in named + [(ClassAccess.everyName, everyField)] {
            for (use, allow) in field.uses.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                for (place, subject) in (allow?.subjects ?? []).enumerated() {
                    guard case .field(let name) = subject else { continue }
                    if let type = table?[name]?.type, MemberField(name, of: type) != nil { continue }
                    throw SkyrowError.invalidArgument(
                        "The type has no field \(name) that holds strings or references to users.",
                        "fields"
                    ).at("fields.\(field.name).\(use.rawValue)[\(place)]")
                }
            }
        }
    }
}

extension RecordStore {
    /// The rules of record types.
    package var classAccess: ClassAccessTable { ClassAccessTable(store: self) }
}
