package import SkyrowModel
package import SkyrowSystem

/// The settings of an import, from its flags.
package struct ImportSettings: Hashable, Sendable {
    package var path: String
    package var type: RecordTypeName
    package var reading: ImportReading
    package var idColumn: String?
    /// Whether the file's reserved columns are imported: the records' owners and access lists.
    package var keepsOwners: Bool
    /// Whether the CSV delimiter was given explicitly.
    private var saysDelimiter: Bool

    /// Throws ``ToolError`` for the first invalid flag.
    package init(
        path: String,
        type: String,
        format: String?,
        delimiter: String?,
        nullTexts: [String],
        idColumn: String?,
        keepsOwners: Bool = false
    ) throws(ToolError) {
        self.path = path
        self.idColumn = idColumn
        self.keepsOwners = keepsOwners
        saysDelimiter = delimiter != nil
        do {
            self.type = try RecordTypeName(type)
        } catch {
            throw .usage("--type must be the name of a record type (letters, digits and underscores); it is '\(type)'.")
        }
        reading = ImportReading(format: try .chosen(by: format, for: path))
        reading.nullTexts = Set(nullTexts)
        if let delimiter {
            guard let byte = ImportSettings.delimiter(delimiter) else {
                throw .usage(
                    "--delimiter must be one ASCII character other than a quote, or 'tab'; it is '\(delimiter)'."
                )
            }
            reading.delimiter = byte
        } else if path.lowercased().hasSuffix(".tsv") || path.lowercased().hasSuffix(".tsv.gz") {
            reading.delimiter = UInt8(ascii: "\t")
        }
    }

    /// The columns with a record's owner and access list.
    private static let ownerColumns: Set = ["_database", "_owner", "_ownerID", "_owner_id", "_access"]

    /// Throws ``ToolError`` if the file has owners and access lists without the flag that allows it, or vice versa, or
    /// if its delimiter is probably another one.
    package func check(_ survey: ImportSurvey) throws(ToolError) {
        if reading.format == .csv, !saysDelimiter, survey.columns.count == 1, let name = survey.columns.first,
            let other = [";", "\t", "|", ","].first(where: { name.contains($0) })
        {
            throw .usage(
                """
                The first line of \(path) is one column, '\(name)': add --delimiter \(other == "\t" ? "tab" : "'\(other)'") if \
                that separates its fields, or --delimiter '\(Character(Unicode.Scalar(reading.delimiter)))' if it has only one.
                """
            )
        }
        let found = survey.columns.filter(ImportSettings.ownerColumns.contains)
        if !keepsOwners, let first = found.first {
            let ways =
                found.contains("_database")
                ? "add --keep-owners to import it, or remove the column" : "remove the column"
            throw .usage("\(path) has a column \(first), which sets who owns the records and may use them: \(ways).")
        }
        if keepsOwners, !found.contains("_database") {
            throw .usage("--keep-owners is for a file that skyrow exported, and \(path) has no column _database.")
        }
    }

    private static func delimiter(_ text: String) -> UInt8? {
        if text == "tab" || text == "\\t" { return UInt8(ascii: "\t") }
        guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80 else { return nil }
        return [UInt8(ascii: "\""), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0].contains(byte) ? nil : byte
    }
}
