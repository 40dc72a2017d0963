/// The form of a file of records.
package enum FileFormat: String, Hashable, Sendable, CaseIterable {
    /// A line of names, then a line a record (RFC 4180).
    case csv
    /// An array of objects, or objects one after the other.
    case json
    /// An object a line.
    case ndjson

    /// Goes by the name of the file, with or without `.gz`; nil when that is no known one.
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

/// What is wrong with one line of a file.
package struct LineFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1 in the file; where a record spans several lines, the first of them.
    var line: Int
    /// A clause that follows "line 7: ".
    var reason: String
    /// Whether what follows in the file cannot be read either.
    var endsFile = false

    package var description: String { "line \(line): \(reason)" }
}
