package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

/// Roles with their access lists and members. The callers of these methods check who may do what.
extension RoleTable {
    /// The most roles that a user may have, including those that contain them.
    package static let maximumHeld = 1000

    /// Returns a query of one column `role`: these roles and all that contain them, at most one more than the limit.
    ///
    /// A cycle, which a trigger refuses, would not make it endless: `UNION` skips rows that were found before.
    ///
    /// - Parameter given: a query of one column.
    func held(from given: SQL) -> SQL {
        """
        WITH RECURSIVE held (role) AS (
            SELECT given.role FROM (\(given)) AS given (role)
            UNION SELECT up.role FROM held JOIN \(store.schema.internal)._role_role AS up ON up.member = held.role
        ) SELECT held.role FROM held LIMIT \(Int64(RoleTable.maximumHeld + 1))
        """
    }

    /// Returns the existing roles of these names, locked until the end of the transaction.
    ///
    /// - Parameter changing: whether the roles will be changed.
    package func standings(
        of names: [RoleName],
        changing: Bool = false,
        in transaction: StoreTransaction
    ) async throws(SkyrowError) -> [RoleName: RoleStanding] {
        try await store.reporting {
            let lock: SQL = changing ? "FOR NO KEY UPDATE OF role" : "FOR SHARE OF role"
            let result = try await transaction.query(
                """
                SELECT \(columns), EXISTS (
                    SELECT FROM (\(held(from: "SELECT role.name"))) AS held
                    JOIN \(store.schema.internal)._role AS above ON above.name = held.role WHERE above.is_admin
                )
                FROM \(store.schema.internal)._role AS role WHERE role.name = ANY (\(names))
                ORDER BY role.name COLLATE "C" \(lock)
                """
            )
            var standings: [RoleName: RoleStanding] = [:]
            for row in 0..<result.rowCount {
                let role = try Role(result, row: row)
                standings[role.name] = RoleStanding(
                    role,
                    makesAdministrators: try result.decode(row: row, column: Self.columnCount)
                )
            }
            return standings
        }
    }

    /// Creates or changes a role, and returns it.
    ///
    /// Throws `108 InvalidArgument` for an invalid name, and `109 Duplicated` for the name of a role that was deleted within 30
    /// days, unless the request forces it.
    ///
    /// - Parameter owner: the owner of the role if it is created.
    package func save(
        _ request: RoleSave,
        owner: UserID?,
        in transaction: StoreTransaction,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Role {
        try await store.reporting {
            if request.forces {
                try await transaction.execute(
                    "DELETE FROM \(store.schema.internal)._tombstone WHERE type = '_role' AND id = \(request.name)"
                )
            }
            var changes: [SQL] = []
            if request.access != nil { changes.append("access = EXCLUDED.access") }
            if request.isDefault != nil { changes.append("by_default = EXCLUDED.by_default") }
            if request.isAdministrators != nil { changes.append("is_admin = EXCLUDED.is_admin") }
            // Returns the row even if nothing changes.
            if changes.isEmpty { changes.append("access = role.access") }
            let access: String? = (request.access ?? nil).map(\.storedJSON)
            let result = try await transaction.query(
                """
                WITH role AS (
                    INSERT INTO \(store.schema.internal)._role AS role (name, access, by_default, is_admin, owner)
                    SELECT \(request.name), \(access as String?)::text::jsonb, \(request.isDefault ?? false),
                        \(request.isAdministrators ?? false),
                        (SELECT account.id FROM \(store.schema.internal)._user AS account WHERE account.id = \(owner as UserID?))
                    ON CONFLICT (name) DO UPDATE SET \(changes.joined(separator: ", "))
                    RETURNING role.*
                )\(event.part(
                    into: store.schema,
                    from: "role",
                    data: "jsonb_build_object('role', role.name, 'by_default', role.by_default, 'is_admin', role.is_admin)"
                ))
                SELECT \(columns) FROM role
                """
            )
            return try Role(result, row: 0)
        }
    }

    /// Deletes a role, which leaves a tombstone; returns false if the role did not exist.
    package func delete(
        _ name: RoleName,
        in transaction: StoreTransaction,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let result = try await transaction.query(
                """
                WITH gone AS (DELETE FROM \(store.schema.internal)._role WHERE name = \(name) RETURNING name)\(event.part(
                    into: store.schema,
                    from: "gone",
                    data: "jsonb_build_object('role', gone.name)"
                ))
                SELECT FROM gone
                """
            )
            return result.rowCount > 0
        }
    }

    /// Adds users and roles to a role; returns how many were not in it before.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user, `109 Duplicated` for roles that would form a cycle, and `108
    /// InvalidArgument` if a user would have too many roles.
    package func add(
        _ request: RoleChange,
        in transaction: StoreTransaction,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Int {
        try await store.reporting {
            let schema = store.schema
            let missing = try await transaction.query(
                """
                SELECT named.place FROM unnest(\(request.users)) WITH ORDINALITY AS named (id, place)
                WHERE NOT EXISTS (SELECT FROM \(schema.internal)._user AS account WHERE account.id = named.id)
                ORDER BY named.place LIMIT 1
                """
            )
            guard missing.isEmpty else {
                let place = Int(try missing.decode(row: 0, column: 0, as: Int64.self)) - 1
                throw SkyrowError.userNotFound.at(place).at("users")
            }
            let users = try await transaction.query(
                """
                WITH given AS (
                    INSERT INTO \(schema.internal)._user_role (user_id, role)
                    SELECT DISTINCT named.id, \(request.role) FROM unnest(\(request.users)) AS named (id) ORDER BY 1
                    ON CONFLICT DO NOTHING RETURNING user_id, role
                )\(memberEvent(event, of: "given"))
                SELECT FROM given
                """
            ).rowCount
            guard !request.roles.isEmpty else { return users }
            let roles = try await transaction.query(
                """
                WITH given AS (
                    INSERT INTO \(schema.internal)._role_role (role, member)
                    SELECT DISTINCT \(request.role), named.role FROM unnest(\(request.roles)) AS named (role) ORDER BY 2
                    ON CONFLICT DO NOTHING RETURNING role, member
                )\(roleEvent(event, of: "given"))
                SELECT FROM given
                """
            ).rowCount
            return users + roles
        }
    }

    /// Returns a further part of a statement, which stores an event for each row of a part with roles and their members.
    private func roleEvent(_ event: AuditEvent?, of source: SQLIdentifier) -> SQL {
        event.part(
            into: store.schema,
            from: "\(source)",
            data: "jsonb_build_object('role', \(source).role, 'member', \(source).member)"
        )
    }

    /// Removes users and roles from a role; returns how many were in it.
    package func remove(
        _ request: RoleChange,
        in transaction: StoreTransaction,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Int {
        try await store.reporting {
            let schema = store.schema
            let users = try await transaction.query(
                """
                WITH gone AS (
                    DELETE FROM \(schema.internal)._user_role WHERE role = \(request.role) AND user_id = ANY (\(request.users))
                    RETURNING user_id, role
                )\(memberEvent(event, of: "gone"))
                SELECT FROM gone
                """
            ).rowCount
            let roles = try await transaction.query(
                """
                WITH gone AS (
                    DELETE FROM \(schema.internal)._role_role WHERE role = \(request.role) AND member = ANY (\(request.roles))
                    RETURNING role, member
                )\(roleEvent(event, of: "gone"))
                SELECT FROM gone
                """
            ).rowCount
            return users + roles
        }
    }

    /// Returns the members of a role, roles before users, in the order of their names.
    ///
    /// - Parameter after: the last member of the page before.
    package func members(
        of role: RoleName,
        after: RoleMember?,
        limit: Int,
        in transaction: StoreTransaction
    ) async throws(SkyrowError) -> MemberPage<RoleMember> {
        try await store.reporting {
            let schema = store.schema
            let laterRoles: SQL
            let laterUsers: SQL
            switch after {
            case nil: (laterRoles, laterUsers) = ("true", "true")
            case .role(let name): (laterRoles, laterUsers) = ("part.member COLLATE \"C\" > \(name)", "true")
            case .user(let id): (laterRoles, laterUsers) = ("false", "part.user_id > \(id)")
            }
            let result = try await transaction.query(
                """
                SELECT member.kind, member.name FROM (
                    (SELECT 0 AS kind, part.member COLLATE "C" AS name FROM \(schema.internal)._role_role AS part
                    WHERE part.role = \(role) AND \(laterRoles) ORDER BY 2 LIMIT \(Int64(limit + 1)))
                    UNION ALL
                    (SELECT 1, part.user_id FROM \(schema.internal)._user_role AS part
                    WHERE part.role = \(role) AND \(laterUsers) ORDER BY part.user_id LIMIT \(Int64(limit + 1)))
                ) AS member ORDER BY member.kind, member.name LIMIT \(Int64(limit + 1))
                """
            )
            let members = try (0..<result.rowCount).map { row -> RoleMember in
                try result.decode(row: row, column: 0, as: Int32.self) == 0
                    ? .role(try result.decode(row: row, column: 1)) : .user(try result.decode(row: row, column: 1))
            }
            return MemberPage(members, limit: limit, position: \.position)
        }
    }

    /// Returns roles in the order of their names.
    ///
    /// - Parameter reader: the audience that must be able to read a role; nil for all roles.
    package func list(
        readableBy reader: Audience?,
        _ page: PageRequest
    ) async throws(SkyrowError) -> MemberPage<Role> {
        try await store.reporting {
            var conditions: [SQL] = []
            if let after = page.after { conditions.append("role.name COLLATE \"C\" > \(after)") }
            if let reader {
                // Every level includes reading.
                conditions.append(
                    """
                    role.access IS NOT NULL AND (role.owner = \(reader.user as UserID?)
                        OR role.access ?| (SELECT \(reader.text)::text::text[]))
                    """
                )
            }
            let condition: SQL = conditions.isEmpty ? "true" : conditions.joined(separator: " AND ")
            let result = try await store.client.read(
                """
                SELECT \(columns) FROM \(store.schema.internal)._role AS role WHERE \(condition)
                ORDER BY role.name COLLATE "C" LIMIT \(Int64(page.limit + 1))
                """
            )
            let roles = try (0..<result.rowCount).map { try Role(result, row: $0) }
            return MemberPage(roles, limit: page.limit, position: \.name.rawValue)
        }
    }

    private static let columnCount = 8

    private var columns: SQL {
        """
        role.name, role.access::text, role.owner, role.by_default, role.is_admin, role.created_at, role.updated_at, role._revision
        """
    }
}

extension Role {
    fileprivate init(_ result: PostgresResult, row: Int) throws(PostgresError) {
        let access = try result.decode(row: row, column: 1, as: String?.self)
        self.init(
            name: try result.decode(row: row, column: 0),
            access: access.map { text in text.withBytes { AccessList(storedJSON: UnsafeRawBufferPointer($0)) } },
            owner: try result.decode(row: row, column: 2),
            isDefault: try result.decode(row: row, column: 3),
            isAdministrators: try result.decode(row: row, column: 4),
            createdAt: try Timestamp(result, row: row, column: 5),
            updatedAt: try Timestamp(result, row: row, column: 6),
            revision: try result.decode(row: row, column: 7)
        )
    }
}

extension RoleMember {
    /// The position of the member in the list, in the form of a subject's key: `role:editor`.
    package var position: String {
        switch self {
        case .role(let name): Subject.role(name).key
        case .user(let id): Subject.user(id).key
        }
    }

    /// Creates the member at a position; nil for any other text.
    package init?(position: String) {
        switch Subject(key: position) {
        case .role(let name): self = .role(name)
        case .user(let id): self = .user(id)
        default: return nil
        }
    }
}

extension MemberPage {
    /// Creates a page of the elements that were read, which are one more than requested if there are further ones.
    fileprivate init(_ elements: [Element], limit: Int, position: (Element) -> String) {
        let page = Array(elements.prefix(limit))
        self.init(page, cursor: elements.count > limit ? page.last.map(position) : nil)
    }
}
