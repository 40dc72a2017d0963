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
            UNION SELECT up.role FROM held JOIN \(schema.internal)._role_role AS up ON up.member = held.role
        ) SELECT held.role FROM held LIMIT \(Int64(RoleTable.maximumHeld + 1))
        """
    }

    /// Selects the roles that were given to a user, as `role`.
    func given(to user: SQL) -> SQL {
        "SELECT given.role FROM \(schema.internal)._user_role AS given WHERE given.user_id = \(user)"
    }

    /// These roles and all that contain them, sorted.
    func allHeld(from given: SQL) -> SQL {
        "ARRAY(SELECT held.role FROM (\(held(from: given))) AS held ORDER BY held.role COLLATE \"C\")"
    }

    /// Whether one of these roles, or of those that contain them, is an administrator's.
    func isAdministrators(_ given: SQL) -> SQL {
        """
        EXISTS (
            SELECT FROM (\(held(from: given))) AS held
            JOIN \(schema.internal)._role AS above ON above.name = held.role WHERE above.is_admin
        )
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
            let columns = Columns(
                RoleStanding.init(_:makesAdministrators:),
                Role.columns,
                "\(isAdministrators("SELECT role.name"))"
            )
            let standings = try await transaction.query(
                """
                SELECT \(columns.list) FROM \(schema.internal)._role AS role WHERE role.name = ANY (\(names))
                ORDER BY role.name COLLATE "C" \(lock)
                """
            ).rows(columns)
            return Dictionary(standings.map { ($0.role.name, $0) }) { $1 }
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
                    "DELETE FROM \(schema.internal)._tombstone WHERE type = '_role' AND id = \(request.name)"
                )
            }
            var changes: [SQL] = []
            if request.access != nil { changes.append("access = EXCLUDED.access") }
            if request.isDefault != nil { changes.append("by_default = EXCLUDED.by_default") }
            if request.isAdministrators != nil { changes.append("is_admin = EXCLUDED.is_admin") }
            // Returns the row even if nothing changes.
            if changes.isEmpty { changes.append("access = role.access") }
            let access: String? = (request.access ?? nil).map(\.storedJSON)
            let roles = try await transaction.query(
                """
                WITH role AS (
                    INSERT INTO \(schema.internal)._role AS role (name, access, by_default, is_admin, owner)
                    SELECT \(request.name), \(access as String?)::text::jsonb, \(request.isDefault ?? false),
                        \(request.isAdministrators ?? false),
                        (SELECT account.id FROM \(schema.internal)._user AS account WHERE account.id = \(owner as UserID?))
                    ON CONFLICT (name) DO UPDATE SET \(changes.joined(separator: ", "))
                    RETURNING role.*
                )\(store.recording(
                    event,
                    from: "role",
                    data: "jsonb_build_object('role', role.name, 'by_default', role.by_default, 'is_admin', role.is_admin)"
                ))
                SELECT \(Role.columns.list) FROM role
                """
            ).rows(Role.columns)
            guard let role = roles.first else { throw SkyrowError.unexpected }
            return role
        }
    }

    /// Deletes a role, which leaves a tombstone; returns false if the role did not exist.
    package func delete(
        _ name: RoleName,
        in transaction: StoreTransaction,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            try await transaction.execute(
                store.recording(
                    event,
                    of: "DELETE FROM \(schema.internal)._role WHERE name = \(name) RETURNING name",
                    data: "jsonb_build_object('role', changed.name)"
                )
            ) > 0
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
            let missing: Int? = try await transaction.query(
                """
                SELECT named.place FROM unnest(\(request.users)) WITH ORDINALITY AS named (id, place)
                WHERE NOT EXISTS (SELECT FROM \(schema.internal)._user AS account WHERE account.id = named.id)
                ORDER BY named.place LIMIT 1
                """
            ).first()
            if let missing { throw SkyrowError.userNotFound.at(missing - 1).at("users") }
            let users = try await transaction.execute(
                recordingUsers(
                    event,
                    """
                    INSERT INTO \(schema.internal)._user_role (user_id, role)
                    SELECT DISTINCT named.id, \(request.role) FROM unnest(\(request.users)) AS named (id) ORDER BY 1
                    ON CONFLICT DO NOTHING RETURNING user_id, role
                    """
                )
            )
            guard !request.roles.isEmpty else { return users }
            let roles = try await transaction.execute(
                recordingRoles(
                    event,
                    """
                    INSERT INTO \(schema.internal)._role_role (role, member)
                    SELECT DISTINCT \(request.role), named.role FROM unnest(\(request.roles)) AS named (role) ORDER BY 2
                    ON CONFLICT DO NOTHING RETURNING role, member
                    """
                )
            )
            return users + roles
        }
    }

    /// Returns a statement that changes the roles in roles, and stores an event for each.
    private func recordingRoles(_ event: AuditEvent?, _ change: SQL) -> SQL {
        store.recording(event, of: change, data: "jsonb_build_object('role', changed.role, 'member', changed.member)")
    }

    /// Removes users and roles from a role; returns how many were in it.
    package func remove(
        _ request: RoleChange,
        in transaction: StoreTransaction,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Int {
        try await store.reporting {
            try await transaction.execute(removing([request.role], from: request.users, recording: event))
                + transaction.execute(
                    recordingRoles(
                        event,
                        """
                        DELETE FROM \(schema.internal)._role_role
                        WHERE role = \(request.role) AND member = ANY (\(request.roles))
                        RETURNING role, member
                        """
                    )
                )
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
            let laterRoles: SQL
            let laterUsers: SQL
            switch after {
            case nil: (laterRoles, laterUsers) = ("true", "true")
            case .role(let name): (laterRoles, laterUsers) = ("part.member COLLATE \"C\" > \(name)", "true")
            case .user(let id): (laterRoles, laterUsers) = ("false", "part.user_id > \(id)")
            }
            let columns = Columns(
                { (isRole: Bool, name: String) -> RoleMember in isRole ? .role(RoleName(name)) : .user(UserID(name)) },
                "member.kind = 0",
                "member.name"
            )
            let members = try await transaction.query(
                """
                SELECT \(columns.list) FROM (
                    (SELECT 0 AS kind, part.member COLLATE "C" AS name FROM \(schema.internal)._role_role AS part
                    WHERE part.role = \(role) AND \(laterRoles) ORDER BY 2 LIMIT \(limit + 1))
                    UNION ALL
                    (SELECT 1, part.user_id FROM \(schema.internal)._user_role AS part
                    WHERE part.role = \(role) AND \(laterUsers) ORDER BY part.user_id LIMIT \(limit + 1))
                ) AS member ORDER BY member.kind, member.name LIMIT \(limit + 1)
                """
            ).rows(columns)
            return MemberPage(members, limit: limit, position: \.position)
        }
    }

    /// Returns roles in the order of their names.
    ///
    /// - Parameter reader: the audience that must be able to read a role; nil for all roles.
    package func list(readableBy reader: Audience?, _ page: PageRequest) async throws(SkyrowError) -> MemberPage<Role> {
        var conditions: [SQL] = ["true"]
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
        let roles = try await store.read(Role.columns) {
            """
            SELECT \($0) FROM \(schema.internal)._role AS role WHERE \(conditions.joined(separator: " AND "))
            ORDER BY role.name COLLATE "C" LIMIT \(page.limit + 1)
            """
        }
        return MemberPage(roles, limit: page.limit, position: \.name.rawValue)
    }
}

extension Role {
    fileprivate static let columns = Columns(
        Role.init(name:access:owner:isDefault:isAdministrators:createdAt:updatedAt:revision:),
        "role.name",
        Columns(
            { (access: String?) in
                access.map { text in text.withBytes { AccessList(storedJSON: UnsafeRawBufferPointer($0)) } }
            },
            "role.access::text"
        ),
        "role.owner",
        "role.by_default",
        "role.is_admin",
        "role.created_at",
        "role.updated_at",
        "role._revision"
    )
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
