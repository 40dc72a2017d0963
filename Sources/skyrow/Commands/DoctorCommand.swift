import ArgumentParser
import Glibc
import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what is wrong with the service's database and machine, and say what to do.",
        discussion: """
            Nothing is changed: PostgreSQL is asked in sessions that can only read. The mail server and the providers of the settings are asked, too. Every record table is read once, unless \
            --quick leaves that out. A check is skipped where there is nothing for it to look at. What is to be pasted is SQL for 'skyrow psql', or a shell's command where it begins with $.

            The exit status is 0 when all is well, 1 with warnings, 2 with errors, a database that cannot be reached among them.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Do not read the record tables.")
    var quick = false

    @Option(
        help: ArgumentHelp(
            "How long one statement of a check may take, so that it does not hold up the service: 10s, 5m.",
            valueName: "time"
        )
    )
    var timeout = "10s"

    @Option(
        name: .customLong("check"),
        help: ArgumentHelp("Make this check and no other; may be repeated.", valueName: "name"),
        completion: .list(DoctorCommand.checks.map(\.name))
    )
    var names: [String] = []

    private static let checks = DoctorCheck.ofTheMachine + DoctorCheck.ofTheDatabase

    func run() async throws {
        var exitCode: Int32 = 0
        try await reportingErrors(failure: 2) {
            // The checks need the service's settings.
            var loader = options.loader
            loader.groups = SettingsTable.groups
            guard let timeout = DurationText.duration(timeout), timeout > .zero else {
                throw ToolError.usage("--timeout must be a time such as 30s or 5m; it is '\(timeout)'.")
            }
            let report = try await examine(try await loader.loadForApplication(), try chosen(), timeout)
            print(output.isJSON ? report.json : report.text)
            exitCode = report.exitCode
        }
        if exitCode != 0 { throw ExitCode(exitCode) }
    }

    private func chosen() throws(ToolError) -> [DoctorCheck] {
        let known = DoctorCommand.checks.map(\.name)
        for name in names where !known.contains(name) {
            throw .usage("There is no check '\(name)'; there are: \(known.joined(separator: ", ")).")
        }
        return DoctorCommand.checks.filter { names.isEmpty || names.contains($0.name) }
    }

    /// - Parameter timeout: The statement timeout.
    private func examine(
        _ settings: Settings,
        _ chosen: [DoctorCheck],
        _ timeout: Duration
    ) async throws(ToolError) -> DoctorReport {
        let machine = HostObservation(settings: settings, environment: processEnvironment())
        var limits = DoctorLimits()
        limits.connectionsOfAService = settings.pools.connections
        limits.feedRetention = Int(settings.records.feedRetention.components.seconds)
        limits.sealingKeys = (try? settings.keys.sealingKeys())?.map(\.name)
        if settings.database.url == nil { limits.machineMemory = ClusterSettings.machineMemory }
        var diagnoses: [DoctorDiagnosis] = []
        for check in chosen {
            let rows = await machine.rows(of: check)
            guard !rows.isEmpty else { continue }
            let findings = check.judge(rows, limits)
            diagnoses.append(DoctorDiagnosis(check: check.name, title: check.title, findings: findings))
        }
        let checks = chosen.filter { check in
            check.machineSubject == nil && !(quick && check.name == DoctorCheck.records.name)
        }
        guard !checks.isEmpty else { return DoctorReport(chosen, diagnoses) }
        let decided = limits
        do throws(ToolError) {
            try await withClient(settings, readsOnly: true, readTimeout: timeout) {
                client,
                schema,
                logger throws(ToolError) in
                let run = DoctorRun(
                    client: client,
                    schema: schema,
                    limits: decided,
                    now: { ServiceClock.system.now().microseconds + Timestamp.unixEpochOffset },
                    logger: logger
                )
                do {
                    diagnoses += try await run(checks)
                } catch {
                    throw ToolError(databaseFailure: error)
                }
            }
        } catch {
            diagnoses.append(DoctorCommand.unreachable(error))
        }
        return DoctorReport(chosen, diagnoses)
    }

    /// Returns the diagnosis of an unavailable database.
    private static func unreachable(_ error: ToolError) -> DoctorDiagnosis {
        let finding = DoctorFinding(
            .error,
            "\(error)",
            meaning: "The service cannot work either, and the checks of the database could not be made.",
            remedy: "See whether PostgreSQL runs, and whether --data-directory or --database-url name the right one."
        )
        return DoctorDiagnosis(check: "database", title: "The database", findings: [finding])
    }
}
