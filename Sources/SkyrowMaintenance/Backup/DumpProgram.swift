import Glibc
import SkyrowSystem

/// `pg_dump` and `pg_restore` of one installation.
struct DumpProgram: Hashable, Sendable {
    var majorVersion: Int
    /// The directory of the programs, with its slash; empty where `PATH` finds them.
    var directory: String

    /// What this machine has.
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

    /// The one for servers and dumps of this major version: of the same version, or else the next later one.
    ///
    /// Throws ``ToolError`` with what to install when there is none, since the programs refuse what is newer than they.
    static func fitting(_ version: Int, among programs: [DumpProgram]) throws(ToolError) -> DumpProgram {
        let fitting = programs.filter { $0.majorVersion >= version }.min { $0.majorVersion < $1.majorVersion }
        guard let fitting else { throw missing(version, among: programs) }
        return fitting
    }

    private static func missing(_ version: Int, among programs: [DumpProgram]) -> ToolError {
        let newest = programs.map(\.majorVersion).max()
        let here = newest.map { "the newest here is of PostgreSQL \($0)" } ?? "there are none here"
        return .failure(
            "This needs pg_dump and pg_restore of PostgreSQL \(version), and \(here): apt-get install postgresql-client-\(version)."
        )
    }

    /// Dumps what an application has, its records and its reserved tables, in the custom format.
    ///
    /// - Parameter extensions: those that objects of the schemas are made with.
    /// - Parameter leftOut: the tables whose rows are not dumped. A name is that of a table in one of the schemas alone.
    func dump(schema: String, internal: String, extensions: [String], leftOut: [String]) -> [String] {
        var words = [
            "\(directory)pg_dump", "--format=custom", "--schema=\(quoted(schema))", "--schema=\(quoted(`internal`))",
            "--quote-all-identifiers", "--encoding=UTF8", "--no-password", "--no-publications", "--no-subscriptions",
            "--lock-wait-timeout=60000",
        ]
        words += extensions.map { "--extension=\(quoted($0))" }
        for home in [schema, `internal`] {
            words += leftOut.map { "--exclude-table-data=\(quoted(home)).\(quoted($0))" }
        }
        return words
    }

    /// Lists what is in a section of a dump that is read from standard input.
    func list(section: String) -> [String] {
        ["\(directory)pg_restore", "--format=custom", "--section=\(section)", "--list"]
    }

    /// Writes a section of a dump as SQL: `pre-data`, `data` or `post-data`.
    ///
    /// - Parameter list: the path of a list that says what to take.
    func script(section: String, list: String? = nil) -> [String] {
        [
            "\(directory)pg_restore", "--format=custom", "--section=\(section)", "--file=-", "--no-owner",
            "--no-privileges", "--no-tablespaces",
        ] + (list.map { ["--use-list=\($0)"] } ?? [])
    }

    /// A name that pg_dump takes as it is, not as a pattern.
    private func quoted(_ name: String) -> String {
        "\"\(name.replacing("\"", with: "\"\""))\""
    }

    /// The entries of a list without what the place of a restore has already, or brings itself: the schema, and what
    /// belongs to the owner of an extension.
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
