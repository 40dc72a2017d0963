package import SkyrowModel

/// A record to import: its values in the order of the import's fields, nil where it has none.
package struct ImportRow: Sendable {
    /// Where the record stands in its source, for telling what was wrong with it.
    package var line: Int
    /// nil asks for a fresh id.
    package var id: String?
    package var values: [RecordValue?]

    package init(line: Int, id: String? = nil, values: [RecordValue?]) {
        self.line = line
        self.id = id
        self.values = values
    }
}

/// A record that could not be imported.
package struct ImportFault: Error, Hashable, Sendable {
    /// nil when the fault showed only at the end, such as a reference to a record that never came.
    package var line: Int?
    package var error: SkyrowError

    package init(line: Int?, error: SkyrowError) {
        self.line = line
        self.error = error
    }
}

/// What an import came to.
package struct ImportSummary: Hashable, Sendable {
    package var imported = 0
    package var faults: [ImportFault] = []

    package init() {}
}
