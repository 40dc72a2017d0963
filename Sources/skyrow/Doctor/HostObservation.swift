import Glibc
import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowRemote
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// Observes this machine and the servers that its service needs, for the checks. It changes nothing.
struct HostObservation: Sendable {
    let settings: Settings
    let environment: [String: String]

    /// Returns the rows of a check of ``DoctorCheck/ofTheMachine``.
    func rows(of check: DoctorCheck) async -> [DoctorRow] {
        switch check.machineSubject {
        case .keyFiles: keyFiles
        case .disk: disk
        case .fileDisk: fileDisk
        case .openFiles: openFiles
        case .thumbnails: thumbnails
        case .accountSettings: accountSettings
        case .mailServer: await mailServer
        case .providers: await providers
        case nil: []
        }
    }

    /// The data directory; nil if it does not exist.
    private var directory: DataDirectory? { try? DataDirectory(existing: settings.database.dataDirectory) }

    private var keyFiles: [DoctorRow] {
        var rows: [DoctorRow?] = []
        if let directory {
            rows.append(row(directory.keys, allowing: 0o600, "the keys of the service"))
            var unannounced = row("\(directory.keys).new", allowing: 0o600, "the keys of the service")
            unannounced?.values["leftover"] = "true"
            rows.append(unannounced)
            rows.append(row(directory.cluster, allowing: 0o700, "the data"))
            rows.append(row(directory.log, allowing: 0o600, "PostgreSQL's log"))
        }
        // Files of secrets, and a settings file that may contain secrets.
        for setting in SettingsTable.rows {
            guard let file = setting.fileRow, let path = environment[file.variable], !path.isEmpty else { continue }
            rows.append(row(path, allowing: 0o640, "the secret '\(setting.name)'"))
        }
        if let path = settings.general.config, settingsFileHoldsSecrets(path) {
            rows.append(row(path, allowing: 0o640, "the secrets in it"))
        }
        return rows.compactMap { $0 }
    }

    private func settingsFileHoldsSecrets(_ path: String) -> Bool {
        guard let file = try? SettingsFile(reading: path) else { return false }
        return SettingsTable.rows.contains { $0.isSecret && file.texts[$0.name] != nil }
    }

    private func row(_ path: String, allowing allowed: mode_t, _ contents: String) -> DoctorRow? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return DoctorRow([
            "path": path, "mode": String(status.st_mode & 0o777, radix: 8), "allowed": String(allowed, radix: 8),
            "contents": contents,
        ])
    }

    private var accountSettings: [DoctorRow] {
        var rows = settings.proxies.masterNetworks.map { network in
            let text = network.description
            var row = DoctorRow(["network": text])
            if text.hasSuffix("/0") { row.values["open"] = "true" }
            return row
        }
        func examine(_ setting: String, _ use: () throws(ToolError) -> Void) {
            do throws(ToolError) { try use() } catch {
                rows.append(DoctorRow(["setting": setting, "fault": "\(error)"]))
            }
        }
        examine("password-breached") { () throws(ToolError) in _ = try settings.accounts.breachedPasswords() }
        examine("mail") { () throws(ToolError) in
            _ = try settings.mail.configuration(of: settings.application.name.rawValue)
        }
        examine("secrets-key") { () throws(ToolError) in _ = try settings.keys.sealingKeys() }
        examine("providers") { () throws(ToolError) in _ = try configuredProviders }
        return rows
    }

    private var configuredProviders: [ProviderConfiguration] {
        get throws(ToolError) { try settings.providers.configuration(ProviderSurroundings(settings)) }
    }

    /// The rows of the mail server; empty without one.
    private var mailServer: [DoctorRow] {
        get async {
            guard var server = settings.mail.server else { return [] }
            server.timeout = HostObservation.patience
            var row = DoctorRow(["server": "\(server.host):\(server.port)"])
            do throws(MailFailure) {
                try await SMTPTransport(server).probe(from: settings.mail.from?.address.domain ?? "localhost")
            } catch {
                row.values["fault"] = error.description
            }
            return [row]
        }
    }

    /// The rows of providers that sign id tokens, queried concurrently. Another check reports invalid provider settings.
    private var providers: [DoctorRow] {
        get async {
            let signing = ((try? configuredProviders) ?? []).filter { !$0.issuers.isEmpty }
            return await withTaskGroup(of: (Int, DoctorRow).self) { group in
                for (place, provider) in signing.enumerated() {
                    group.addTask { (place, await HostObservation.row(of: provider)) }
                }
                var rows: [(Int, DoctorRow)] = []
                for await row in group { rows.append(row) }
                return rows.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
    }

    private static func row(of provider: ProviderConfiguration) async -> DoctorRow {
        func now() -> String { "\(ServiceClock.system.now().microseconds + Timestamp.unixEpochOffset)" }
        var row = DoctorRow(["name": provider.name, "before": now()])
        switch await provider.fetchKeys() {
        case .success(let fetched):
            row.values["after"] = now()
            row.values["date"] = fetched.date.map { "\($0)" }
        case .failure(let failure):
            row.values["fault"] = failure.description
        }
        return row
    }

    /// The mail server's timeout.
    private static let patience = Duration.seconds(10)

    private var disk: [DoctorRow] { directory.flatMap { HostObservation.space(of: $0.path) }.map { [$0] } ?? [] }

    /// Empty if the files are on the disk of the data directory.
    private var fileDisk: [DoctorRow] {
        guard settings.files.storage != .off else { return [] }
        var (own, other) = (stat(), stat())
        let path = settings.fileDirectory
        guard stat(path, &own) == 0 else { return [] }
        if let directory, stat(directory.path, &other) == 0, own.st_dev == other.st_dev { return [] }
        return HostObservation.space(of: path).map { [$0] } ?? []
    }

    /// Empty if the program is not needed.
    private var thumbnails: [DoctorRow] {
        guard settings.files.storage != .off, !settings.files.thumbnailSizes.isEmpty else { return [] }
        return [
            [
                "program": VipsThumbnails.program, "package": VipsThumbnails.package,
                "installed": "\(VipsThumbnails().isInstalled)",
            ]
        ]
    }

    private static func space(of path: String) -> DoctorRow? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let block = UInt64(status.f_frsize)
        return DoctorRow([
            "path": path, "free": "\(UInt64(status.f_bavail) * block)", "size": "\(UInt64(status.f_blocks) * block)",
        ])
    }

    private var openFiles: [DoctorRow] {
        let needed = settings.listening.maximumConnections + settings.pools.connections + 64
        // A service inherits the limits of the process that starts it.
        for (whose, process) in [
            ("The running service", runningService), ("A service started from here", getpid()),
        ] {
            guard let process, let limits = HostObservation.openFileLimits(ofProcess: process) else { continue }
            return [
                ["whose": whose, "soft": "\(limits.soft)", "hard": "\(limits.hard)", "needed": "\(needed)"]
            ]
        }
        return []
    }

    /// The process that holds the data directory's lock, if any. Trying the lock could prevent a service from starting.
    private var runningService: Int32? {
        var status = stat()
        guard let directory, stat(directory.lock, &status) == 0, let locks = contentsOfFile("/proc/locks") else {
            return nil
        }
        return HostObservation.holder(ofLockOn: UInt(status.st_ino), in: locks)
    }

    /// Parses `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF` (proc(5)).
    static func holder(ofLockOn inode: UInt, in locks: String) -> Int32? {
        for line in locks.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK",
                words[5].split(separator: ":").last.map(String.init) == "\(inode)"
            else { continue }
            return Int32(words[4])
        }
        return nil
    }

    /// Parses `Max open files  1024  524288  files` (proc(5)).
    static func openFileLimits(ofProcess process: Int32) -> (soft: Int, hard: Int)? {
        guard let text = contentsOfFile("/proc/\(process)/limits") else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("Max open files") {
            let words = line.split(separator: " ").dropFirst(3)
            guard words.count >= 2, let soft = words.first, let hard = words.dropFirst().first else { return nil }
            return (Int(soft) ?? .max, Int(hard) ?? .max)
        }
        return nil
    }
}

extension SettingValues<PoolSettings> {
    /// Upper bound on the connections of one service process: those of the settings, and one each for group commits,
    /// for LISTEN, and for cancelling a statement.
    var connections: Int {
        self.maximumReadConnections + self.maximumWriteConnections + self.maximumTransactionConnections + 3
    }
}
