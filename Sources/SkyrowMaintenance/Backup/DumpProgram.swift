import Glibc
import SkyrowSystem

/// An installation's `pg_dump` and `pg_restore`.
struct DumpProgram: Hashable, Sendable {
    var majorVersion: Int
    /// The directory of the programs with a trailing slash; empty if they are found by `PATH`.
    var directory: String

    /// Returns the installations of this machine.
    static func installed() async -> [DumpProgram] {
        let root = "/usr/lib/postgresql"
        var programs = (contentsOfDirectory(root) ?? []).compactMap { name in
            Int(name).map { DumpProgram(majorVersion: $0, directory: "\(root)/\(name)/bin/") }
        }.filter { access("\($0.directory)pg_dump", X_OK) == 0 && access("\($0.directory)pg_restore", X_OK) == 0 }
        // "pg_dump (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)"
        if programs.isEmpty, let output = try? await ProgramOutput.text(of: ["pg_dump", "--version"]),
            let version = output.split(separator: " ").lazy.compactMap({ Int($0.prefix { $0.isNumber }) }).first
        {
            programs.append(DumpProgram(majorVersion: version, directory: ""))
        }
        return programs
    }

    /// Returns the installation for servers and dumps of a major version: the same version, or else the next later one.
    ///
    /// Throws ``ToolError`` with what to install if no version fits, as the programs refuse newer servers and dumps.
    static func fitting(_ version: Int, among programs: [DumpProgram]) throws(ToolError) -> DumpProgram {
        let fitting = programs.filter { $0.majorVersion >= version }.min { $0.majorVersion < $1.majorVersion }
        guard let fitting else { throw missing(version, among: programs) }
        return fitting
    }

    private static func missing(_ version: Int, among programs: [DumpProgram]) -> ToolError {
        let newest = programs.map(\.majorVersion).max()
        let here = newest.map { "the newest installed version is \($0)" } ?? "they are not installed"
        return .failure(
            "This needs pg_dump and pg_restore of PostgreSQL \(version), and \(here): apt-get install postgresql-client-\(version)."
        )
    }

    /// Returns the command that dumps an application's records and reserved tables in the custom format.
    ///
    /// - Parameter extensions: The extensions that objects of the schemas depend on.
    /// - Parameter leftOut: The tables whose rows are excluded. Each name is unique among both schemas.
    /// - Parameter snapshot: The exported snapshot to read; nil for the program's own.
    func dump(
        schema: String,
        internal: String,
        extensions: [String],
        leftOut: [String],
        snapshot: String? = nil
    ) -> [String] {
        var words = [
            "\(directory)pg_dump", "--format=custom", "--schema=\(quoted(schema))", "--schema=\(quoted(`internal`))",
            "--quote-all-identifiers", "--encoding=UTF8", "--no-password", "--no-publications", "--no-subscriptions",
            "--lock-wait-timeout=60000",
        ]
        words += extensions.map { "--extension=\(quoted($0))" }
        for home in [schema, `internal`] {
            words += leftOut.map { "--exclude-table-data=\(quoted(home)).\(quoted($0))" }
        }
        if let snapshot { words.append("--snapshot=\(snapshot)") }
        return words
    }

    /// Returns the command that lists a section of a dump on standard input.
    func list(section: String) -> [String] {
        ["\(directory)pg_restore", "--format=custom", "--section=\(section)", "--list"]
    }

    /// Returns the command that writes a section of a dump as SQL: `pre-data`, `data` or `post-data`.
    ///
    /// - Parameter list: The path of a list that selects entries.
    func script(section: String, list: String? = nil) -> [String] {
        [
            "\(directory)pg_restore", "--format=custom", "--section=\(section)", "--file=-", "--no-owner",
            "--no-privileges", "--no-tablespaces",
        ] + (list.map { ["--use-list=\($0)"] } ?? [])
    }

    /// Returns a name quoted so that pg_dump does not read it as a pattern.
    private func quoted(_ name: String) -> String {
        "\"\(name.replacing("\"", with: "\"\""))\""
    }

    /// Returns the entries of a list that a restore must create. The schema, and comments on extensions, which belong
    /// to the extension's owner, are excluded.
    static func entries(of list: String) -> [Substring] {
        list.split(separator: "\n").filter { line in
            let words = line.split(separator: " ")
            // "7; 2615 16465 SCHEMA - app postgres", "3404; 0 0 COMMENT - EXTENSION "pg_trgm" "
            guard words.count > 5, words[0].count > 1, words[0].hasSuffix(";"),
                words[0].dropLast().allSatisfy(\.isNumber)
            else { return false }
            return !(words[3] == "SCHEMA" && words[4] == "-")
                && !(words[3] == "COMMENT" && words[4] == "-" && words[5] == "EXTENSION")
        }
    }
}
