import ArgumentParser
import Glibc
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowServer
import SkyrowStore
import SkyrowSystem
import SkyrowWire

/// `skyrow schema`
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Keep the record types as a file: show them, compare, and make the database as the file says.",
        discussion: """
            The file is JSON in the form of schema:fetch, with indexes, defaults, comments and renames besides. It says \
            everything: what it does not have, the database is not to have. The chapter "Schema as code" of Operations.md \
            has the whole form.
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
        abstract: "Print the file that says what the database has."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await reportingErrors {
            try await withSchemaStore(try await options.loader.loadForApplication(), readsOnly: true) {
                store,
                _ throws(ToolError) in
                let document = try await failingAsTool { () async throws(SkyrowError) in
                    try await store.schemaDocument()
                }
                print(document.schemaFile, terminator: "")
            }
        }
    }
}

/// `skyrow schema diff`
struct SchemaDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare a file with the database, and tell what psql made otherwise than Skyrow does.",
        discussion: """
            Nothing is changed. The exit status is that of diff(1): 0 when file and database are the same, 1 when they \
            differ, drift included, and above that when they could not be compared: 2, or one of the other statuses below.
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
            try await withSchemaStore(try await options.loader.loadForApplication(), readsOnly: true) {
                store,
                schema throws(ToolError) in
                let report = try await failingAsTool { () async throws(SkyrowError) in
                    try await store.compareSchema(with: document)
                }
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
        abstract: "Make the database as a file says.",
        discussion: """
            It shows what it is going to do and asks. Data is deleted only with --allow-data-loss. What psql made otherwise \
            than Skyrow does is repaired where that takes no decision. Running services go on with the new schema, and their \
            clients with tables while these are changed: many of them some at a time, and large ones after all else, step by \
            step. What is interrupted is completed by the same command. Of what cannot be done so nothing is done without \
            --lock-tables, which makes all or nothing.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The schema file; - is standard input.", completion: .file())
    var file: String

    @Flag(name: .customLong("allow-data-loss"), help: "Delete types, fields and values as the file asks.")
    var allowsDataLoss = false

    @Flag(name: .customLong("leave-drift"), help: "Leave alone what psql made otherwise.")
    var leavesDrift = false

    @Flag(
        name: .customLong("lock-tables"),
        help: "Make all or nothing, and keep tables locked as long as it takes; for when the service is not used."
    )
    var locksTables = false

    @Flag(help: "Do not ask; needed where there is no terminal.")
    var yes = false

    func run() async throws {
        try await reportingErrors {
            let document = try SchemaDocument(readingFile: file)
            try await withSchemaStore(try await options.loader.loadForApplication()) {
                store,
                schema throws(ToolError) in
                try await apply(document, to: store, schema)
            }
        }
    }

    private func apply(_ document: SchemaDocument, to store: RecordStore, _ schema: SQLIdentifier)
        async throws(ToolError)
    {
        let report = try await failingAsTool { () async throws(SkyrowError) in
            try await store.compareSchema(with: document)
        }
        let difference = report.difference
        if !output.isJSON { print(report.text(file: file, in: schema)) }
        fflush(nil)
        if let refusal = difference.refusals.first { throw .failure("Nothing was changed. \(refusal)") }
        if !locksTables, let obstacle = report.obstacles.first { throw .failure("Nothing was changed. \(obstacle)") }
        let plan = difference.plan(repairing: !leavesDrift)
        if !plan.isEmpty {
            guard allowsDataLoss || !report.losesData else {
                throw .failure(
                    "Nothing was changed, since data would be lost. If that is meant, add --allow-data-loss."
                )
            }
            if !yes {
                guard let isMeant = Confirmation.ask("Change the database?") else {
                    throw .usage("Nothing was changed: there is no terminal to ask on. Add --yes.")
                }
                guard isMeant else { throw .failure("Nothing was changed.") }
            }
            try await failingAsTool { () async throws(SkyrowError) in
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
        abstract: "Build the index by which the changes of a large type are found.",
        discussion: """
            changes:fetch and live queries that resume need it for types of more than 10,000 records. It is built while \
            records are read and written, here or by a running service, and makes each later update somewhat more costly. \
            "sync": true in the schema file asks for the same.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The record type.")
    var type: String

    func run() async throws {
        try await reportingErrors {
            let type = try recordType(type)
            try await withSchemaStore(try await options.loader.loadForApplication()) {
                store,
                schema throws(ToolError) in
                try await failingAsTool { () async throws(SkyrowError) in try await store.follow(type) }
                try await settleIndexes(of: type, in: store)
                let indexes = try await failingAsTool { () async throws(SkyrowError) in
                    try await store.indexes(IndexListRequest(type: type))
                }
                if let failed = indexes.first(where: { $0.state == .failed && $0.isOfFollowedType }) {
                    throw .failure(
                        "The index could not be built (\(failed.failure?.reason.rawValue ?? "unknown")). Give the command again "
                            + "when the cause is gone."
                    )
                }
                print("\(type) is followed: its changes are found by an index.")
            }
        }
    }
}

/// `skyrow schema unfollow`
struct SchemaUnfollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unfollow",
        abstract: "Drop the index by which the changes of a type are found.",
        discussion: """
            Change tokens of the type stay good. While it has more than 10,000 records nothing goes on from them.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The record type.")
    var type: String

    func run() async throws {
        try await reportingErrors {
            let type = try recordType(type)
            try await withSchemaStore(try await options.loader.loadForApplication()) {
                store,
                schema throws(ToolError) in
                try await failingAsTool { () async throws(SkyrowError) in try await store.unfollow(type) }
                try await settleIndexes(of: type, in: store)
                print("\(type) is not followed any more.")
            }
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
        let indexes = try await failingAsTool { () async throws(SkyrowError) in
            try await store.indexes(IndexListRequest(type: type))
        }
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

/// Calls `body` with the store of the settings' database, whose reserved tables must be up to date.
private func withSchemaStore(
    _ settings: Settings,
    readsOnly: Bool = false,
    _ body: (RecordStore, SQLIdentifier) async throws(ToolError) -> Void
) async throws(ToolError) {
    try await withClient(settings, readsOnly: readsOnly) { client, schema, logger throws(ToolError) in
        try await requireMigrated(client, schema, logger: logger)
        try await body(RecordStore(client: client, schema: schema, mode: .production, logger: logger), schema)
    }
}
