import SkyrowSystem

/// The format of a file of records.
package enum FileFormat: String, Hashable, Sendable, CaseIterable {
    /// A header line, then one record a line (RFC 4180).
    case csv
    /// An array of objects, or concatenated objects.
    case json
    /// One object a line.
    case ndjson

    /// Derives the format from the file name, with or without `.gz`; nil if it is unknown.
    init?(fileName: String) {
        let name = fileName.lowercased()
        let plain = name.hasSuffix(".gz") ? name.dropLast(3) : name[...]
        switch plain.split(separator: ".").last {
        case "csv", "tsv": self = .csv
        case "json": self = .json
        case "ndjson", "jsonl": self = .ndjson
        default: return nil
        }
    }

    /// Returns the format that `--format` names, by default that of the file's name; CSV without a file.
    static func chosen(by name: String?, for path: String?) throws(ToolError) -> FileFormat {
        let formats = allCases.map(\.rawValue).joined(separator: ", ")
        if let name {
            guard let format = FileFormat(rawValue: name) else {
                throw .usage("--format must be one of \(formats); it is '\(name)'.")
            }
            return format
        }
        guard let path else { return .csv }
        guard let format = FileFormat(fileName: path) else {
            throw .usage("The format of \(path) is not clear from its name: specify --format with one of \(formats).")
        }
        return format
    }
}

/// A fault in one line of a file.
package struct LineFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line number, from 1; the first line of a record that spans several lines.
    var line: Int
    /// A clause that follows "line 7: ".
    var reason: String
    /// Whether the rest of the file is unreadable, too.
    var endsFile = false

    package var description: String { "line \(line): \(reason)" }
}
