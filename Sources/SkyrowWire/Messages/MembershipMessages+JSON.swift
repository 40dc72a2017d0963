package import SkyrowJSON
package import SkyrowModel

extension RoleSaveRequest {
    /// Reads `role:save`; an `access` of null is no list, and none leaves the list as it is.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            name: RoleName(try parameters.name("name")),
            isDefault: try parameters.boolean("by_default"),
            isAdministrators: try parameters.boolean("is_admin"),
            forces: try parameters.boolean("force") ?? false
        )
        guard let list = json["access"] else { return }
        do throws(SkyrowError) {
            access = .some(try AccessList(list))
        } catch {
            var error = error
            // As in a record, but under the name that the parameter has here.
            error.info["arguments"] = .list([.string("access")])
            if let path = error.path { error = error.replacingPath(with: "access" + path.dropFirst("_access".count)) }
            throw error
        }
    }
}

extension RoleChangeRequest {
    /// Reads `role:add` and `role:remove`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            role: RoleName(try parameters.name("role")),
            users: (try parameters.names("users") ?? []).map { UserID($0) },
            roles: (try parameters.names("roles") ?? []).map { RoleName($0) }
        )
        guard roles.count <= RoleChangeRequest.maximumRoles else {
            throw parameters.tooMany("roles", RoleChangeRequest.maximumRoles)
        }
    }
}

extension PageRequest {
    /// Reads `limit` and `after`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            limit: try parameters.integer("limit", in: 1...PageRequest.maximumLimit) ?? PageRequest.defaultLimit,
            after: try parameters.string("after")
        )
        guard after?.hasNUL != true else { throw .invalidArgument("A cursor holds no NUL.", "after") }
    }
}

extension GroupRequest {
    /// Reads `group:add` and `group:remove`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            userID: try GroupRequest.user(json),
            groups: try parameters.required("groups", parameters.names("groups")).map { GroupName($0) }
        )
        guard groups.count <= 200 else { throw parameters.tooMany("groups", 200) }
    }

    /// `user_id` of `group:add`, `group:remove` and `group:list`.
    package static func user(_ json: JSONView) throws(SkyrowError) -> UserID? {
        try Parameters(json).userID("user_id")
    }
}

/// The name of the role that `role:delete` and `role:members` are about.
package enum RoleParameter {
    package static func name(_ json: JSONView) throws(SkyrowError) -> RoleName {
        RoleName(try Parameters(json).name("name"))
    }

    package static func role(_ json: JSONView) throws(SkyrowError) -> RoleName {
        RoleName(try Parameters(json).name("role"))
    }
}

extension Parameters {
    /// A text that must be there, and be fit for a name.
    fileprivate func name(_ name: StaticString) throws(SkyrowError) -> String {
        let text = try required(name, string(name))
        guard text.isName else {
            throw .invalidArgument("\"\(name)\" is a text of 1 to 255 bytes without NUL.", "\(name)")
        }
        return text
    }
}

extension JSONWriter {
    /// The result of an action on roles, groups and relations.
    package func membership(_ result: MembershipResult) {
        switch result {
        case .role(let role):
            self.role(role)
        case .roles(let page):
            self.page("roles", page) { role($0) }
        case .members(let page):
            self.page("members", page) { member in
                beginObject()
                switch member {
                case .role(let name):
                    key("role")
                    string(name.rawValue)
                case .user(let id):
                    key("user_id")
                    string(id.rawValue)
                }
                endObject()
            }
        case .added(let count):
            self.count("added", count)
        case .removed(let count):
            self.count("removed", count)
        case .groups(let groups):
            beginObject()
            key("groups")
            strings(groups.map(\.rawValue))
            endObject()
        case .relations(let outcomes):
            relationOutcomes(outcomes)
        case .relationPage(let page):
            beginObject()
            key("users")
            relationOutcomes(page.users)
            relationInfo(page)
            endObject()
        }
    }

    private func page<Element>(_ name: StaticString, _ page: MemberPage<Element>, _ element: (Element) -> Void) {
        beginObject()
        key(name)
        beginArray()
        for next in page.elements where refusal == nil { element(next) }
        endArray()
        if let cursor = page.cursor {
            key("cursor")
            string(cursor)
        }
        endObject()
    }

    private func count(_ name: StaticString, _ count: Int) {
        beginObject()
        key(name)
        integer(count)
        endObject()
    }

    private func role(_ role: Role) {
        beginObject()
        key("name")
        string(role.name.rawValue)
        key("access")
        accessList(role.access)
        if let owner = role.owner {
            key("owner")
            string(owner.rawValue)
        }
        key("by_default")
        boolean(role.isDefault)
        key("is_admin")
        boolean(role.isAdministrators)
        if let createdAt = role.createdAt {
            key("created_at")
            timestamp(createdAt)
        }
        if let updatedAt = role.updatedAt {
            key("updated_at")
            timestamp(updatedAt)
        }
        key("revision")
        integer(role.revision)
        endObject()
    }
}

// MARK: The client's side

extension JSONWriter {
    /// The parameters of `role:save`.
    package func roleSaveParameters(_ request: RoleSaveRequest) {
        beginObject()
        key("name")
        string(request.name.rawValue)
        if let access = request.access {
            key("access")
            accessList(access)
        }
        if let isDefault = request.isDefault {
            key("by_default")
            boolean(isDefault)
        }
        if let isAdministrators = request.isAdministrators {
            key("is_admin")
            boolean(isAdministrators)
        }
        if request.forces {
            key("force")
            boolean(true)
        }
        endObject()
    }

    /// The parameters of `role:add` and `role:remove`.
    package func roleChangeParameters(_ request: RoleChangeRequest) {
        beginObject()
        key("role")
        string(request.role.rawValue)
        if !request.users.isEmpty {
            key("users")
            strings(request.users.map(\.rawValue))
        }
        if !request.roles.isEmpty {
            key("roles")
            strings(request.roles.map(\.rawValue))
        }
        endObject()
    }

    /// The parameters of `role:list`, and with a role those of `role:members`.
    package func pageParameters(_ page: PageRequest, of role: RoleName? = nil) {
        beginObject()
        if let role {
            key("role")
            string(role.rawValue)
        }
        key("limit")
        integer(page.limit)
        if let after = page.after {
            key("after")
            string(after)
        }
        endObject()
    }

    /// The parameters of `role:delete`.
    package func roleNameParameters(_ name: RoleName) {
        beginObject()
        key("name")
        string(name.rawValue)
        endObject()
    }

    /// The parameters of `group:*`.
    package func groupParameters(groups: [GroupName]? = nil, user: UserID?) {
        beginObject()
        if let groups {
            key("groups")
            strings(groups.map(\.rawValue))
        }
        if let user {
            key("user_id")
            string(user.rawValue)
        }
        endObject()
    }
}

extension Role {
    /// Reads a role of a result; throws for what has no name.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let name = json["name"]?.string else {
            throw SkyrowError(.badRequest, "A role without a name is none.")
        }
        self.init(
            name: RoleName(name),
            owner: json["owner"]?.string.map { UserID($0) },
            isDefault: json["by_default"]?.boolean ?? false,
            isAdministrators: json["is_admin"]?.boolean ?? false,
            createdAt: json["created_at"]?.string.flatMap { try? Timestamp(rfc3339: $0) },
            updatedAt: json["updated_at"]?.string.flatMap { try? Timestamp(rfc3339: $0) },
            revision: json["revision"]?.wholeNumber.flatMap { Int64(exactly: $0) } ?? 0
        )
        if let list = json["access"] { access = try AccessList(list) }
    }
}
