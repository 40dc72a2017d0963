import Glibc
import SkyrowStore

// Checks of this machine rather than the database. HostObservation supplies the rows.

extension DoctorCheck {
    package static let ofTheMachine: [DoctorCheck] = [
        keyFiles, disk, fileDisk, openFiles, thumbnails, accountSettings, mailServer, providers,
    ]

    /// Rows: `path`, `mode` and `allowed` bits in octal, `contents` in words, and `leftover` for a key file that no
    /// service has announced.
    package static let keyFiles = DoctorCheck(
        "key-files",
        "Permissions of keys and data",
        .machine(.keyFiles),
        judge: { rows, _ in
            rows.flatMap { row -> [DoctorFinding] in
                let (path, values) = (row.values["path"] ?? "", row.values)
                var findings: [DoctorFinding] = []
                let mode = values["mode"].flatMap { Int($0, radix: 8) } ?? 0
                let allowed = values["allowed"].flatMap { Int($0, radix: 8) } ?? 0
                if mode & ~allowed != 0 {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "\(path) has the mode \(values["mode"] ?? "").",
                            meaning: "Others on this machine can read or change \(values["contents"] ?? "it").",
                            remedy: "Restrict it to its owner, and replace the keys if other users are not trusted.",
                            commands: ["$ chmod \(String(allowed, radix: 8)) '\(path)'"]
                        )
                    )
                }
                if values["leftover"] != nil {
                    findings.append(
                        DoctorFinding(
                            .warning,
                            "\(path) contains keys that were created but never shown.",
                            meaning: "The first start of the service did not complete.",
                            remedy: "Start it again, and read its output."
                        )
                    )
                }
                return findings
            }
        }
    )

    /// Rows: `path`, `free` and `size` in bytes.
    package static let disk = DoctorCheck(
        "disk",
        "Free space of the data directory",
        .machine(.disk),
        finding: { row, limits in
            DoctorFinding.scarceSpace(
                row,
                limits,
                meaning: "When it is full, PostgreSQL stops and nothing can be saved.",
                remedy: "Free space, or move the data directory to a larger disk while the service is stopped.",
                commands: [
                    "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class "
                        + "WHERE relkind = 'r' ORDER BY pg_total_relation_size(oid) DESC LIMIT 10;"
                ]
            )
        }
    )

    /// Rows: as of ``disk``; empty if it is that disk.
    package static let fileDisk = DoctorCheck(
        "file-disk",
        "Free space of the files of records",
        .machine(.fileDisk),
        finding: { row, limits in
            DoctorFinding.scarceSpace(
                row,
                limits,
                meaning: "When it is full, uploads fail; records are still saved.",
                remedy:
                    "Free space, collect the files that no record refers to, or move file-directory to a larger disk.",
                commands: ["$ skyrow files collect --dry-run"]
            )
        }
    )

    /// Rows: the limits `soft` and `hard`, the number `needed`, and `whose`, the process they apply to.
    package static let openFiles = DoctorCheck(
        "open-files",
        "Limit of open files",
        .machine(.openFiles),
        finding: { row, _ in
            guard let soft = row.values["soft"].flatMap({ Int($0) }),
                let needed = row.values["needed"].flatMap({ Int($0) }),
                soft < needed
            else { return nil }
            return DoctorFinding(
                .warning,
                "\(row.values["whose"] ?? "") may open \(soft) files, and the settings allow clients that need "
                    + "\(needed).",
                meaning: "Connections beyond that are refused, although --maximum-connections allows them.",
                remedy:
                    "Raise the limit where the service is started (LimitNOFILE= of systemd, --ulimit of Docker), or allow "
                    + "fewer connections.",
                commands: ["$ ulimit -n \(needed)"]
            )
        }
    )

    /// Rows: `program`, which makes thumbnails, its `package`, and `installed`, which is `true` if it is there.
    package static let thumbnails = DoctorCheck(
        "thumbnails",
        "Program for thumbnails",
        .machine(.thumbnails),
        finding: { row, _ in
            guard row["installed"] != "true" else { return nil }
            return DoctorFinding(
                .hint,
                "The program \(row["program"]) is not installed.",
                meaning: "Requests for thumbnails of images fail; files are sent as they are.",
                remedy: "Install it, or set thumbnail-sizes to off.",
                commands: ["$ apt-get install --no-install-recommends \(row["package"])"]
            )
        }
    )

    /// Rows: `network`, a range of addresses that may use the master key, with `open` for the range of all addresses;
    /// or `fault`, why a file named by a `setting` is unusable.
    package static let accountSettings = DoctorCheck(
        "account-settings",
        "Settings of keys, passwords and mail",
        .machine(.accountSettings),
        finding: { row, _ in
            if let fault = row.values["fault"] {
                return DoctorFinding(
                    .error,
                    "The setting \(row["setting"]) is not usable: \(fault)",
                    meaning: "The service does not start with it.",
                    remedy: "Correct the file, or specify another one."
                )
            }
            guard row.values["open"] != nil else { return nil }
            return DoctorFinding(
                .warning,
                "The master key is accepted from all addresses (\(row["network"])).",
                meaning: "It bypasses every rule; a stolen key can be used from anywhere.",
                remedy: "List the addresses of the administrators in master-key-networks."
            )
        }
    )

    /// Rows: `server`, and `fault`, why it cannot send mail.
    package static let mailServer = DoctorCheck(
        "mail-server",
        "Mail server",
        .machine(.mailServer),
        finding: { row, _ in
            guard let fault = row.values["fault"] else { return nil }
            return DoctorFinding(
                .error,
                "The mail server is not usable: \(fault)",
                meaning: "Codes and notices wait, for a day at most, and users who need them cannot continue.",
                remedy: "Check the server, or correct mail, mail-password, mail-tls and mail-ca."
            )
        }
    )

    /// Rows: the `name` of a provider, with `fault`, why its keys cannot be fetched; or its time as `date`, in seconds
    /// since 1970, between `before` and `after`, this machine's times in microseconds.
    package static let providers = DoctorCheck(
        "providers",
        "Keys and clocks of providers",
        .machine(.providers),
        finding: { row, limits in
            if let fault = row.values["fault"] {
                return DoctorFinding(
                    .error,
                    "The keys of the provider \(row["name"]) cannot be fetched: \(fault)",
                    meaning:
                        "Users cannot log in with it: running processes use the keys they fetched before for a day, and a "
                        + "process that starts now has none.",
                    remedy:
                        "Check whether this machine can reach it, and whether issuer and keys in the setting are correct."
                )
            }
            guard row.values["date"] != nil else { return nil }
            // The header has whole seconds, so the provider's time is up to a second later, between this machine's
            // two times.
            let early = Double(row.integer("before")) / 1e6 - Double(row.integer("date") + 1)
            let late = Double(row.integer("date")) - Double(row.integer("after")) / 1e6
            let skew = max(early, late)
            guard skew > limits.providerSkew else { return nil }
            return DoctorFinding(
                .error,
                "The clock of the provider \(row["name"]) is \(Int(skew)) seconds \(late > early ? "ahead of" : "behind") this machine's.",
                meaning: "Tokens that are issued a minute in the future or expired a minute ago are refused.",
                remedy: "Synchronise this machine's clock by NTP; the check 'clock' is about that of the database.",
                commands: ["$ timedatectl status"]
            )
        }
    )
}

extension DoctorFinding {
    /// A disk with little free space; nil if it has enough.
    fileprivate static func scarceSpace(
        _ row: DoctorRow,
        _ limits: DoctorLimits,
        meaning: String,
        remedy: String,
        commands: [String]
    ) -> DoctorFinding? {
        guard let free = row.values["free"].flatMap({ Int($0) }), let size = row.values["size"].flatMap({ Int($0) }),
            size > 0
        else { return nil }
        let percent = Double(free) * 100 / Double(size)
        // A tenth of a large disk is still a lot of space.
        let isScarce =
            free < limits.scarceDisk || (percent < limits.scarceDiskPercent && free < limits.scarceDisk * 10)
        guard isScarce else { return nil }
        return DoctorFinding(
            free < limits.emptyDisk ? .error : .warning,
            "The disk of \(row.values["path"] ?? "") has \(free >> 20) MB left, \(Int(percent)) %.",
            meaning: meaning,
            remedy: remedy,
            commands: commands
        )
    }
}
