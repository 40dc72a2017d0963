package import SkyrowModel
package import SkyrowSystem

/// The settings of an export, from its flags.
package struct ExportSettings: Hashable, Sendable {
    package enum Destination: Hashable, Sendable {
        case standardOutput
        case file(String)
        /// A file per type, and a manifest.
        case directory(String)
    }

    /// The types to export; empty for all.
    package var types: [RecordTypeName]
    package var format: FileFormat
    package var destination: Destination
    /// Whether an existing file is replaced.
    package var overwrites: Bool
    /// Whether texts that a spreadsheet would read as formulas get an apostrophe.
    package var isForSpreadsheets: Bool
    /// Whether the files of records are written, too.
    package var withFiles: Bool

    /// - Parameter isDirectory: Returns whether the path is a directory.
    ///
    /// Throws ``ToolError`` for the first invalid flag.
    package init(
        types: [String],
        format: String?,
        output: String?,
        overwrites: Bool = false,
        isForSpreadsheets: Bool = false,
        withFiles: Bool = false,
        isDirectory: (String) -> Bool
    ) throws(ToolError) {
        self.overwrites = overwrites
        self.isForSpreadsheets = isForSpreadsheets
        self.withFiles = withFiles
        self.types = []
        for text in types {
            guard let type = try? RecordTypeName(text) else {
                throw .usage(
                    "--type must be the name of a record type (letters, digits and underscores); it is '\(text)'."
                )
            }
            if !self.types.contains(type) { self.types.append(type) }
        }
        switch output {
        case nil, "-"?: destination = .standardOutput
        case let path? where path.isEmpty: throw .usage("--output must be the path of a file or a directory.")
        case let path?:
            guard !path.lowercased().hasSuffix(".tsv"), !path.lowercased().hasSuffix(".tsv.gz") else {
                throw .usage("CSV is written with commas: use a name for --output that ends with .csv.")
            }
            let isOfMany = self.types.count != 1 || path.hasSuffix("/") || isDirectory(path)
            destination = isOfMany ? .directory(path.withoutTrailingSlashes) : .file(path)
        }
        if destination == .standardOutput, self.types.count != 1 {
            throw .usage(
                "Several types need a directory: specify it with --output, or select one type with --type for standard output."
            )
        }
        let file: String? = if case .file(let path) = destination { path } else { nil }
        self.format = try .chosen(by: format, for: file)
        if withFiles, file != nil || !self.types.isEmpty {
            throw .usage("--files exports the files of all types to a directory: leave out --type.")
        }
        guard isForSpreadsheets else { return }
        if self.format != .csv {
            throw .usage("--for-spreadsheets is for CSV, and --format is \(self.format.rawValue).")
        }
        if case .directory = destination {
            throw .usage(
                "skyrow import cannot read a directory that was written with --for-spreadsheets: use --type and a file."
            )
        }
    }
}

extension String {
    fileprivate var withoutTrailingSlashes: String {
        var text = self
        while text.count > 1, text.hasSuffix("/") { text.removeLast() }
        return text
    }
}
