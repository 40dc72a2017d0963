import ArgumentParser
import Glibc
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow schema`
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Manage the record types in a file: show, compare and apply it.",
        discussion: """
            The file is JSON in the format of schema:fetch, with indexes, defaults, comments and renames in addition. It is \
            complete: what is not in the file is removed from the database. The chapter "Schema as code" of Operations.md \
            describes the format.
            """,
        subcommands: [
            SchemaShowCommand.self, SchemaDiffCommand.self, SchemaApplyCommand.self, SchemaFollowCommand.self,
            SchemaUnfollowCommand.self,
        ]
    )
}

/// `skyrow schema show`
struct SchemaShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print the schema of the database as a file."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await reportingErrors {
            try await withSchemaStore(options, readsOnly: true) { store, _ throws(ToolError) in
                let document = try await failingAsTool { try await store.schemaDocument() }
                print(document.schemaFile, terminator: "")
            }
        }
    }
}

/// `skyrow schema diff`
struct SchemaDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract:
            "Compare a file with the database, and report drift, which is what psql created differently from Skyrow.",
        discussion: """
            Nothing is changed. The exit status is that of diff(1): 0 if the file and the database match, 1 if they \
            differ or there is drift, and higher if they could not be compared: 2, or one of the other statuses below.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The schema file; - is standard input.", completion: .file())
    var file: String

    func run() async throws {
        var isSame = true
        try await reportingErrors(failure: 2) {
            let document = try SchemaDocument(readingFile: file)
            try await withSchemaStore(options, readsOnly: true) { store, schema throws(ToolError) in
                let report = try await failingAsTool { try await store.compareSchema(with: document) }
                print(output.isJSON ? report.json(in: schema) : report.text(file: file, in: schema))
                isSame = report.difference.isEmpty
            }
        }
        if !isSame { throw ExitCode(1) }
    }
}

/// `skyrow schema apply`
struct SchemaApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Change the database to match a file.",
        discussion: """
            It shows the changes and asks for confirmation. Data is deleted only with --allow-data-loss. Drift is repaired if \
            that needs no decision. Running services continue with the new schema, and clients can use the tables while these \
            are changed: many tables are changed in batches, and large ones at the end, step by step. Repeat the command to \
            complete an interrupted run. Changes that cannot be made this way need --lock-tables, which makes all changes or \
            none.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The schema file; - is standard input.", completion: .file())
    var file: String

    @Flag(name: .customLong("allow-data-loss"), help: "Delete types, fields and values that are not in the file.")
    var allowsDataLoss = false

    @Flag(name: .customLong("leave-drift"), help: "Do not repair drift.")
    var leavesDrift = false

    @Flag(
        name: .customLong("lock-tables"),
        help: "Make all changes or none, and lock the tables meanwhile; for when the service is not used."
    )
    var locksTables = false

    @Flag(help: "Do not ask for confirmation; required without a terminal.")
    var yes = false

    func run() async throws {
        try await reportingErrors {
            let document = try SchemaDocument(readingFile: file)
            try await withSchemaStore(options) { store, schema throws(ToolError) in
                try await apply(document, to: store, schema)
            }
        }
    }

    private func apply(_ document: SchemaDocument, to store: RecordStore, _ schema: SQLIdentifier)
        async throws(ToolError)
    {
        let report = try await failingAsTool { try await store.compareSchema(with: document) }
        let difference = report.difference
        if !output.isJSON { print(report.text(file: file, in: schema)) }
        fflush(nil)
        if let refusal = difference.refusals.first { throw .failure("Nothing was changed. \(refusal)") }
        if !locksTables, let obstacle = report.obstacles.first { throw .failure("Nothing was changed. \(obstacle)") }
        let plan = difference.plan(repairing: !leavesDrift)
        if !plan.isEmpty {
            guard allowsDataLoss || !report.losesData else {
                throw .failure(
                    "Nothing was changed, since data would be lost. If this is intended, add --allow-data-loss."
                )
            }
            if !yes { try Confirmation.require("Change the database?") }
            try await failingAsTool {
                try await store.applySchema(
                    document,
                    expecting: difference,
                    repairing: !leavesDrift,
                    allowingLoss: allowsDataLoss,
                    lockingTables: locksTables
                )
            }
        }
        if output.isJSON {
            print(report.json(in: schema, applied: plan.count))
        } else {
            print(plan.isEmpty ? "Nothing to do." : "Done: \(counted(plan.count, "change")).")
        }
    }
}

/// `skyrow schema follow`
struct SchemaFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Build the index that finds the changes of a large type.",
        discussion: """
            changes:fetch and live queries that resume need it for types of more than 10,000 records. It is built without \
            blocking reads and writes, here or by a running service, and makes each update slightly slower. "sync": true in the \
            schema file has the same effect.
            """
    )

    @OptionGroup var followed: FollowedType

    func run() async throws {
        try await reportingErrors { try await followed.change(isFollowed: true) }
    }
}

/// `skyrow schema unfollow`
struct SchemaUnfollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unfollow",
        abstract: "Drop the index that finds the changes of a type.",
        discussion: """
            Change tokens of the type stay valid. While it has more than 10,000 records, clients cannot resume from them.
            """
    )

    @OptionGroup var followed: FollowedType

    func run() async throws {
        try await reportingErrors { try await followed.change(isFollowed: false) }
    }
}

/// The record type of `schema follow` and `schema unfollow`.
struct FollowedType: ParsableArguments {
    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The record type.")
    var type: String

    /// Builds or drops the index that finds the changes of the type, and prints the result.
    fileprivate func change(isFollowed: Bool) async throws(ToolError) {
        let type = try recordType(type)
        try await withSchemaStore(options) { store, _ throws(ToolError) in
            try await failingAsTool {
                if isFollowed { try await store.follow(type) } else { try await store.unfollow(type) }
            }
            try await settleIndexes(of: type, in: store)
            guard isFollowed else { return print("\(type) is no longer followed.") }
            let indexes = try await failingAsTool { try await store.indexes(of: type) }
            if let failed = indexes.first(where: { $0.state == .failed && $0.isOfFollowedType }) {
                throw .failure(
                    "The index could not be built (\(failed.failure?.reason.rawValue ?? "unknown")). Run the command again "
                        + "after fixing the cause."
                )
            }
            print("\(type) is followed: an index finds its changes.")
        }
    }
}

private func recordType(_ name: String) throws(ToolError) -> RecordTypeName {
    do throws(SkyrowError) {
        return try RecordTypeName(name)
    } catch {
        throw .usage(error.message)
    }
}

/// Builds and drops the requested indexes, or waits for the service to do so.
private func settleIndexes(of type: RecordTypeName, in store: RecordStore) async throws(ToolError) {
    let builder = IndexBuilder(client: store.client, logger: store.logger) { [schema = store.schema] in [schema] }
    while true {
        do {
            _ = try await builder.pass()
        } catch {
            throw .failure("The index cannot be built now: \(error)")
        }
        let indexes = try await failingAsTool { try await store.indexes(of: type) }
        let isUnderWay = indexes.contains {
            $0.isOfFollowedType && ($0.state == .building || $0.state == .deleting)
        }
        guard isUnderWay else { return }
        guard (try? await ServiceTimer.sleep(for: .seconds(1))) != nil else { return }
    }
}

extension RecordIndex {
    fileprivate var isOfFollowedType: Bool { definition?.isOfFollowedType ?? false }
}

/// Calls `body` with the store of the options' database, whose reserved tables must be up to date.
private func withSchemaStore(
    _ options: DatabaseOptions,
    readsOnly: Bool = false,
    _ body: (RecordStore, SQLIdentifier) async throws(ToolError) -> Void
) async throws(ToolError) {
    let settings = try await options.loader.loadForApplication()
    try await withClient(settings, readsOnly: readsOnly) { client, schema, logger throws(ToolError) in
        try await requireMigrated(client, schema, logger: logger)
        try await body(RecordStore(client: client, schema: schema, mode: .production, logger: logger), schema)
    }
}
