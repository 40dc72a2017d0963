import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem

/// `skyrow role`
struct RoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role",
        abstract: "Create and show roles, and change their members.",
        subcommands: [
            RoleCreateCommand.self, RoleListCommand.self, RoleMembersCommand.self, RoleAddCommand.self,
            RoleRemoveCommand.self,
        ]
    )
}

/// `skyrow role create`
struct RoleCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a role.",
        discussion: "Only administrators may assign it; role:save gives it an access list for others."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name of the role.")
    var name: String

    @Flag(name: .customLong("administrators"), help: "Grant administrator rights to its users.")
    var isAdministrators = false

    @Flag(name: .customLong("default"), help: "Assign it to every new account.")
    var isDefault = false

    @Flag(help: "Allow the name of a role that was deleted within the last 30 days.")
    var force = false

    func run() async throws {
        try await reportingErrors {
            let request = RoleSave(
                name: RoleName(name),
                isDefault: isDefault,
                isAdministrators: isAdministrators,
                forces: force
            )
            try await withApplication(options) { application throws(ToolError) in
                let known = try await failingAsTool { try await application.store.roles.names() }
                guard !known.contains(request.name) else {
                    throw .failure("The role '\(request.name)' already exists.")
                }
                let role = try await application.run(Actions.roleSave, request)
                print(output.isJSON ? json(Actions.roleList, MemberPage([role])) : "Created the role \(role.name).")
            }
        }
    }
}

/// `skyrow role list`
struct RoleListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the roles.")

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, readsOnly: true) { application throws(ToolError) in
                let roles = try await allPages { page throws(ToolError) in
                    try await application.run(Actions.roleList, page)
                }
                guard output.isJSON else {
                    let rows = roles.map { role in
                        [
                            role.name.rawValue, role.isAdministrators ? "yes" : "no", role.isDefault ? "yes" : "no",
                            role.access.map { "\($0.entries.count) entries" } ?? "none",
                        ]
                    }
                    return print(textTable([["ROLE", "ADMINISTRATORS", "NEW USERS", "LIST"]] + rows))
                }
                print(json(Actions.roleList, MemberPage(roles)))
            }
        }
    }
}

/// `skyrow role members`
struct RoleMembersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "Show the direct members of a role, roles before users."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name of the role.")
    var role: String

    func run() async throws {
        try await reportingErrors {
            // Not read-only: the transaction locks the role against deletion while its members are read.
            try await withApplication(options) { application throws(ToolError) in
                let role = RoleName(role)
                let members = try await allPages { page throws(ToolError) in
                    try await application.run(
                        Actions.roleMembers,
                        RoleMembersQuery(role: role, limit: page.limit, after: page.after)
                    )
                }
                if output.isJSON { return print(json(Actions.roleMembers, MemberPage(members))) }
                for member in members {
                    switch member {
                    case .role(let name): print("role \(name)")
                    case .user(let id): print("user \(id)")
                    }
                }
            }
        }
    }
}

/// The arguments of `role add` and `role remove`.
struct RoleMemberOptions: ParsableArguments {
    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name of the role.")
    var role: String

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("An account, by its id, username or mail address; may be repeated.", valueName: "name")
    )
    var users: [String] = []

    @Option(
        name: .customLong("role"),
        help: ArgumentHelp("A role whose users become users of this role; may be repeated.", valueName: "name")
    )
    var roles: [String] = []

    func validate() throws {
        guard !users.isEmpty || !roles.isEmpty else { throw ValidationError("Specify a --user or a --role.") }
    }

    /// Changes the members of the role, and prints how many.
    func change(
        by action: Action<RoleChange, Int>,
        _ text: (_ count: Int, _ role: RoleName) -> String
    ) async throws(ToolError) {
        try await withApplication(options) { application throws(ToolError) in
            let request = try await request(to: application)
            let count = try await application.run(action, request)
            print(output.isJSON ? json(action, count) : text(count, request.role))
        }
    }

    private func request(to application: OperatedApplication) async throws(ToolError) -> RoleChange {
        var ids: [UserID] = []
        for user in users { ids.append(try await application.store.account(named: user).id) }
        let names = ([role] + roles).map { RoleName($0) }
        let known = try await failingAsTool { try await application.service.existing(names) }
        return RoleChange(role: known[0], users: ids, roles: Array(known.dropFirst()))
    }
}

/// `skyrow role add`
struct RoleAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add users and roles to a role.",
        discussion: """
            The users of a role that is added to another role are also users of that role. Every running service of the \
            application applies the change within a second.
            """
    )

    @OptionGroup var members: RoleMemberOptions

    func run() async throws {
        try await reportingErrors {
            try await members.change(by: Actions.roleAdd) { count, role in "Added \(count) to \(role)." }
        }
    }
}

/// `skyrow role remove`
struct RoleRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove users and roles from a role.",
        discussion: "Every running service of the application applies the change within a second."
    )

    @OptionGroup var members: RoleMemberOptions

    func run() async throws {
        try await reportingErrors {
            try await members.change(by: Actions.roleRemove) { count, role in "Removed \(count) from \(role)." }
        }
    }
}

/// Returns all pages of a list.
private func allPages<Element: Sendable>(
    _ read: (PageRequest) async throws(ToolError) -> MemberPage<Element>
) async throws(ToolError) -> [Element] {
    var elements: [Element] = []
    var page = PageRequest(limit: PageRequest.maximumLimit)
    while true {
        let part = try await read(page)
        elements += part.elements
        guard let cursor = part.cursor else { return elements }
        page.after = cursor
    }
}

/// Returns the result of an action as JSON.
func json<Parameters, Result>(_ action: Action<Parameters, Result>, _ result: Result) -> String {
    let writer = JSONWriter(capacity: 256)
    action.result.write(result, writer)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
}
