import ArgumentParser
import Glibc
import Logging
import SkyrowServer
import SkyrowSystem

/// `skyrow psql`
struct PsqlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "psql",
        abstract: "Open psql on the service's database.",
        discussion: """
            The search path contains the tables of the application and those of the schema public. Arguments that are not \
            options of skyrow are passed to psql: skyrow psql -c 'SELECT * FROM note'. The embedded PostgreSQL is started \
            for the session if no service is running on the data directory. The exit status is psql's.

            The session has the rights of the service, which owns the database and is not a superuser. Use --administrator for \
            statements that need a superuser, such as CREATE EXTENSION and ALTER SYSTEM. A superuser should not change tables \
            that come from an untrusted archive: their triggers run with the rights of the role that changes them.

            Other tools, such as DBeaver, pgAdmin and Metabase, connect to the address that --print-url prints. The embedded \
            PostgreSQL has one while a service is running on it with --embedded-port.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Flag(name: .customLong("administrator"), help: "Connect as the superuser of the embedded PostgreSQL.")
    var isAdministrator = false

    @Flag(
        name: .customLong("print-url"),
        help: "Print the address of the database for PostgreSQL tools, including the password, and exit."
    )
    var printsURL = false

    @Argument(parsing: .allUnrecognized, help: "Options and arguments of psql.")
    var arguments: [String] = []

    func run() async throws {
        try await reportingErrors {
            let settings = try await options.loader.loadForApplication()
            if isAdministrator, settings.database.url != nil {
                throw ToolError.usage(
                    "--administrator is for the embedded PostgreSQL: specify the role in --database-url."
                )
            }
            if printsURL { return print(try ToolAddress.url(of: settings)) }
            let access = try await DatabaseAccess(settings, logger: toolLogger())
            let status: ProcessExit
            do throws(ToolError) {
                status = try await PsqlCommand.psql(
                    access,
                    settings,
                    isAdministrator ? .administrator : .service,
                    arguments
                )
            } catch {
                await access.close()
                throw error
            }
            await access.close()
            switch status {
            case .exited(0): break
            case .exited(let code): throw ExitCode(code)
            case .killed(let signal): throw ExitCode(128 + signal)
            }
        }
    }

    private static func psql(
        _ access: DatabaseAccess,
        _ settings: Settings,
        _ role: ClusterRole,
        _ arguments: [String]
    ) async throws(ToolError) -> ProcessExit {
        // Ctrl-C at psql's prompt is for psql.
        signal(SIGINT, SIG_IGN)
        let terminal = try (0...2).map { number throws(ToolError) in
            FileDescriptor(owning: dup(Int32(number)))
        }
        let (connection, descriptors) = access.connection(forChildWith: terminal, as: role)
        var environment = try processEnvironment(connectingTo: connection)
        let searchPath = "-c search_path=\"\(settings.database.schema)\",public,postgis"
        environment["PGOPTIONS"] = [environment["PGOPTIONS"], searchPath].compactMap { $0 }.joined(separator: " ")
        return try await ChildProcess.launch(
            Command(["psql"] + arguments, environment: environment, descriptors: descriptors)
        ).exit
    }
}
