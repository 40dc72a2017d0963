import Glibc
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What the doctor makes of the machine.
@Suite struct HostChecksTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var check: DoctorCheck
        var row: DoctorRow
        var findings: [(DoctorFinding.Severity, String)]

        init(_ check: DoctorCheck, _ row: DoctorRow, _ findings: (DoctorFinding.Severity, String)...) {
            (self.check, self.row, self.findings) = (check, row, findings)
        }

        var testDescription: String { "\(check.name) \(row.values)" }
    }

    private static let rows: [Row] = [
        Row(.keyFiles, ["path": "/d/keys", "mode": "600", "allowed": "600", "contents": "the keys"]),
        Row(.keyFiles, ["path": "/d/keys", "mode": "400", "allowed": "600", "contents": "the keys"]),
        Row(
            .keyFiles,
            ["path": "/d/keys", "mode": "640", "allowed": "600", "contents": "the keys"],
            (.error, "/d/keys has the mode 640.")
        ),
        Row(
            .keyFiles,
            ["path": "/d/keys.new", "mode": "600", "allowed": "600", "leftover": "true"],
            (.warning, "/d/keys.new contains keys that were created but never shown.")
        ),
        Row(.disk, ["path": "/d", "free": "\(50 << 30)", "size": "\(1000 << 30)"]),
        Row(.disk, ["path": "/d", "free": "\(3 << 30)", "size": "\(10 << 30)"]),
        Row(
            .disk,
            ["path": "/d", "free": "\(3 << 30)", "size": "\(100 << 30)"],
            (.warning, "The disk of /d has 3072 MB left, 3 %.")
        ),
        Row(
            .disk,
            ["path": "/d", "free": "\(1 << 30)", "size": "\(4 << 30)"],
            (.warning, "The disk of /d has 1024 MB left, 25 %.")
        ),
        Row(
            .disk,
            ["path": "/d", "free": "\(100 << 20)", "size": "\(4 << 30)"],
            (.error, "The disk of /d has 100 MB left, 2 %.")
        ),
        Row(.fileDisk, ["path": "/f", "free": "\(50 << 30)", "size": "\(1000 << 30)"]),
        Row(
            .fileDisk,
            ["path": "/f", "free": "\(1 << 30)", "size": "\(4 << 30)"],
            (.warning, "The disk of /f has 1024 MB left, 25 %.")
        ),
        Row(.openFiles, ["whose": "The running service", "soft": "1024", "hard": "4096", "needed": "1024"]),
        Row(
            .openFiles,
            ["whose": "The running service", "soft": "1024", "hard": "4096", "needed": "1025"],
            (.warning, "The running service may open 1024 files, and the settings allow clients that need 1025")
        ),
        Row(.thumbnails, ["program": "vipsthumbnail", "package": "libvips-tools", "installed": "true"]),
        Row(
            .thumbnails,
            ["program": "vipsthumbnail", "package": "libvips-tools"],
            (.hint, "The program vipsthumbnail is not installed.")
        ),
        Row(.accountSettings, ["network": "127.0.0.0/8"]),
        Row(
            .accountSettings,
            ["setting": "secrets-key", "fault": "It has no key."],
            (.error, "The setting secrets-key is not usable: It has no key.")
        ),
        Row(.mailServer, ["server": "mail.example.org:587"]),
        Row(
            .mailServer,
            ["server": "mail.example.org:587", "fault": "mail.example.org:587: Login denied."],
            (.error, "The mail server is not usable: mail.example.org:587: Login denied.")
        ),
        Row(.providers, ["name": "google", "before": "1000000000", "after": "1000500000"]),
        // To the second, and a minute is no fault.
        Row(.providers, ["name": "google", "before": "1000000000", "after": "1000500000", "date": "1000"]),
        Row(.providers, ["name": "google", "before": "1000000000", "after": "1000500000", "date": "939"]),
        Row(.providers, ["name": "google", "before": "1000000000", "after": "1000500000", "date": "1060"]),
        Row(
            .providers,
            ["name": "google", "before": "1000000000", "after": "1000500000", "date": "938"],
            (.error, "The clock of the provider google is 61 seconds behind this machine's.")
        ),
        Row(
            .providers,
            ["name": "google", "before": "1000000000", "after": "1000500000", "date": "1062"],
            (.error, "The clock of the provider google is 61 seconds ahead of this machine's.")
        ),
        Row(
            .providers,
            ["name": "google", "before": "1000000000", "fault": "The status was 500."],
            (.error, "The keys of the provider google cannot be fetched: The status was 500.")
        ),
    ]

    @Test(arguments: rows)
    func aCheckJudgesItsRow(_ row: Row) {
        let found = row.check.judge([row.row], DoctorLimits())
        #expect(found.map(\.severity) == row.findings.map(\.0))
        for (finding, expected) in zip(found, row.findings) {
            #expect(finding.what.contains(expected.1))
            #expect(!finding.meaning.isEmpty && !finding.remedy.isEmpty)
        }
    }

    @Test func theHolderOfALockIsRead() {
        let locks = """
            1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF
            2: FLOCK  ADVISORY  WRITE 12 fe:00:78 0 EOF
            3: FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF
            """
        #expect(HostObservation.holder(ofLockOn: 77, in: locks) == 13)
        #expect(HostObservation.holder(ofLockOn: 79, in: locks) == nil)
    }

    @Test func theLimitsOfAProcessAreRead() throws {
        let limits = try #require(HostObservation.openFileLimits(ofProcess: getpid()))
        #expect(limits.soft > 0 && limits.soft <= limits.hard)
        #expect(HostObservation.openFileLimits(ofProcess: -1) == nil)
    }
}

/// What the doctor prints.
@Suite struct DoctorReportTests {
    private static func diagnosis(_ check: DoctorCheck, _ severities: DoctorFinding.Severity...) -> DoctorDiagnosis {
        let findings = severities.map { DoctorFinding($0, "What.", meaning: "Meaning.", remedy: "Remedy.") }
        return DoctorDiagnosis(check: check.name, title: check.title, findings: findings)
    }

    @Test(
        arguments: [
            ([], nil, 0, "1 check run and 1 skipped, no findings."),
            ([.hint], .hint, 0, "1 check run and 1 skipped: 1 hint."),
            ([.hint, .warning], .warning, 1, "1 check run and 1 skipped: 1 warning, 1 hint."),
            ([.warning], .warning, 1, "1 check run and 1 skipped: 1 warning."),
            ([.warning, .warning, .error], .error, 2, "1 check run and 1 skipped: 1 error, 2 warnings."),
        ] as [([DoctorFinding.Severity], DoctorFinding.Severity?, Int32, String)]
    )
    func theWorstDecides(
        severities: [DoctorFinding.Severity],
        worst: DoctorFinding.Severity?,
        status: Int32,
        conclusion: String
    ) {
        var diagnosis = Self.diagnosis(.disk)
        diagnosis.findings = severities.flatMap { Self.diagnosis(.disk, $0).findings }
        let report = DoctorReport([.keyFiles, .disk], [diagnosis])
        #expect(report.severity == worst && report.exitCode == status)
        #expect(report.text.hasPrefix("skipped  key-files  Permissions of keys and data\n"))
        #expect(report.text.hasSuffix("\n\n" + conclusion))
    }

    @Test func linesAreBrokenBetweenWords() {
        #expect(DoctorReport.wrapped("one two three", width: 7) == ["one two", "three"])
        #expect(DoctorReport.wrapped("a-very-long-word b", width: 4) == ["a-very-long-word", "b"])
    }
}
