/// What a command did.
package struct RunSummary: Hashable, Sendable {
    package struct Part: Hashable, Sendable {
        /// The record type, or the table.
        package var name: String
        package var rows: Int
        package var bytes: Int?
    }

    /// `export`
    package var command: String
    /// Whether it did nothing, as it was asked.
    package var isDryRun = false
    /// What each part is, `types` or `tables`.
    package var partsName: String
    package var parts: [Part]
    /// The tables whose rows were left out.
    package var leftOut: [String] = []
    /// What was written or read in all.
    package var bytes: Int
    package var path: String?
    package var elapsed: Duration

    package var rows: Int { parts.reduce(0) { $0 + $1.rows } }
}
