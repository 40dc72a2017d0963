/// The result of a command.
package struct RunSummary: Hashable, Sendable {
    package struct Part: Hashable, Sendable {
        /// The record type, or the table.
        package var name: String
        package var rows: Int
        package var bytes: Int?
    }

    /// `export`
    package var command: String
    /// Whether this was a dry run.
    package var isDryRun = false
    /// The noun for the parts: `types` or `tables`.
    package var partsName: String
    package var parts: [Part]
    /// The tables whose rows were excluded.
    package var leftOut: [String] = []
    /// The files of records; nil if the command was to leave them out.
    package var files: FileTally?
    /// The number of stored files that were left out.
    package var filesLeftOut = 0
    /// How rows and files compare after a restore.
    package var fileReport: FileReport?
    /// What was written or read in all.
    package var bytes: Int
    package var path: String?
    package var elapsed: Duration

    package var rows: Int { parts.reduce(0) { $0 + $1.rows } }
}
