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
