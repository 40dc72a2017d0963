import ArgumentParser
import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow policies`
struct PoliciesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policies",
        abstract: "Let PostgreSQL roles work with the records of a user through SQL.",
        discussion: """
            The access rules of record types become row-level security: a role sees and changes through SQL what its user can \
            through the service. The chapter "Access by SQL" of Operations.md has an example and the limits.
            """,
        subcommands: [PoliciesApplyCommand.self, PoliciesCheckCommand.self, PoliciesDropCommand.self]
    )
}

/// `skyrow policies apply`
struct PoliciesApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Create policies, views and rights according to the rules.",
        discussion: """
            A type whose policies are replaced is closed to roles until all are created; many types are processed in batches. \
            Repeat the command to resume an interrupted run. Without --login the policies are updated for the existing roles, as \
            after a change of rules or fields. A role must exist, and must not have rights that bypass policies.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Option(
        name: .customLong("login"),
        help: ArgumentHelp(
            "A PostgreSQL role and the user that it represents, by id, username or mail address; may be repeated.",
            valueName: "role=user"
        )
    )
    var logins: [String] = []

    func run() async throws {
        try await reportingErrors {
            let given = try logins.map { text throws(ToolError) in
                guard let login = DatabaseLogin(text) else {
                    throw .usage("--login must be a role and a user, such as ann_sql=ann, not '\(text)'.")
                }
                return login
            }
            try await withRules(options) { store throws(ToolError) in
                var logins: [DatabaseLogin] = []
                for login in given {
                    let user = try await store.account(named: login.user.rawValue).id
                    logins.append(DatabaseLogin(role: login.role, user: user))
                }
                let outcome = try await failingAsTool { try await store.applyPolicies(for: logins) }
                guard output.isJSON else {
                    let types = counted(outcome.types, "type")
                    let roles = outcome.roles.isEmpty ? "no role" : outcome.roles.joined(separator: ", ")
                    return print("Created policies for \(outcome.changed.count) of \(types), and rights for \(roles).")
                }
                print(
                    jsonObject { writer in
                        writer.member("changed", outcome.changed.map(\.rawValue))
                        writer.member("roles", outcome.roles)
                    }
                )
            }
        }
    }
}

/// `skyrow policies check`
struct PoliciesCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Compare the policies and rights with the rules.",
        discussion: """
            Nothing is changed. The exit status is 0 if there is no difference, and 1 if there is one or if they could not be \
            compared.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        var isSame = true
        try await reportingErrors {
            try await withRules(options, readsOnly: true) { store throws(ToolError) in
                let (isApplied, differences) = try await failingAsTool { try await store.policyDifferences() }
                isSame = differences.isEmpty
                if output.isJSON {
                    print(
                        jsonObject { writer in
                            writer.member("applied", isApplied)
                            writer.member("differences", differences)
                        }
                    )
                } else if isSame {
                    print(isApplied ? "Policies and rights match the rules." : "There are no policies.")
                } else {
                    for difference in differences { print(difference) }
                }
            }
        }
        if !isSame { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}

/// `skyrow policies drop`
struct PoliciesDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Remove policies, views and rights, or the rights of some roles.",
        discussion:
            "The roles themselves are kept, and so are rights that were granted to them separately."
    )

    @OptionGroup var options: DatabaseOptions

    @Option(
        name: .customLong("login"),
        help: ArgumentHelp("A role that no longer represents a user; may be repeated.", valueName: "role")
    )
    var roles: [String] = []

    func run() async throws {
        try await reportingErrors {
            let roles = try roles.map { text throws(ToolError) in
                guard let role = try? SQLIdentifier(text) else { throw .usage("--login must be the name of a role.") }
                return role
            }
            try await withRules(options) { store throws(ToolError) in
                try await failingAsTool { try await store.dropPolicies(for: roles) }
            }
        }
    }
}

/// Calls `body` with the store of the settings' database, with the service's rules including those of settings.
private func withRules(
    _ options: DatabaseOptions,
    readsOnly: Bool = false,
    _ body: (RecordStore) async throws(ToolError) -> Void
) async throws(ToolError) {
    var loader = options.loader
    loader.groups += [AccountSettings.self, RecordSettings.self]
    let settings = try await loader.loadForApplication()
    try await withClient(settings, readsOnly: readsOnly) { client, schema, logger throws(ToolError) in
        try await requireMigrated(client, schema, logger: logger)
        try await body(
            RecordStore(
                client: client,
                schema: schema,
                mode: .production,
                loginKeys: try await loginKeys(settings, in: schema, of: client),
                loginKeyReaders: settings.accounts.loginKeyReaders,
                sharedAccessLists: settings.records.sharedAccessLists,
                accessListReaders: settings.records.accessListReaders,
                logger: logger
            )
        )
    }
}
