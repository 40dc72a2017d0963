import ArgumentParser
import Glibc
import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the service's database and machine for problems, and suggest fixes.",
        discussion: """
            Nothing is changed: PostgreSQL is queried in read-only sessions. The mail server and the providers in the settings \
            are contacted, too. Every record table is read once, unless --quick is given. A check is skipped if it does not \
            apply. The suggested commands are SQL for 'skyrow psql', or shell commands if they begin with $.

            The exit status is 0 without findings, 1 with warnings, and 2 with errors, such as an unreachable database.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Do not read the record tables.")
    var quick = false

    @Option(
        help: ArgumentHelp(
            "The time limit of each statement, so that a check does not slow down the service, such as 10s or 5m.",
            valueName: "time"
        )
    )
    var timeout = "10s"

    @Option(
        name: .customLong("check"),
        help: ArgumentHelp("Run only this check; may be repeated.", valueName: "name"),
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
            throw .usage("The check '\(name)' does not exist; the checks are \(known.joined(separator: ", ")).")
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
        limits.actions = Set(ActionTable.all.map(\.description.name))
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
        let files = await settings.examinedFiles
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
                    files: files,
                    logger: logger
                )
                diagnoses += try await failingAsTool { try await run(checks) }
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
            meaning: "The service cannot work either, and the database checks could not run.",
            remedy: "Check whether PostgreSQL is running, and whether --data-directory or --database-url is correct."
        )
        return DoctorDiagnosis(check: "database", title: "The database", findings: [finding])
    }
}
