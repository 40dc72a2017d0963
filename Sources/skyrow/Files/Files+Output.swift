import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowProtocol

// The files in the output of commands.

extension FileReport {
    /// ```json
    /// {"files":3,"bytes":4711,"differences":[{"kind":"missing","name":"7b0e2a7c-…-cat.png","size":12}],
    ///   "counts":{"missing":1,"orphaned":0,"wrong-size":0,"wrong-checksum":0},"unsettled":0,"adopted":0,"removed":0}
    /// ```
    func write(to writer: JSONWriter) {
        writer.member("files", count)
        writer.member("bytes", bytes)
        differences.write(to: writer)
        writer.member("unsettled", unsettled)
        writer.member("adopted", adopted)
        writer.member("removed", removed)
    }

    /// A line for each difference, and the conclusion.
    var text: String {
        var lines = differences.lines
        let compared = "\(counted(count, "file")), \(megabytes(Int(bytes)))"
        lines.append(
            differences.isEmpty
                ? "Rows and files match: \(compared)."
                : "Compared \(compared): \(counted(differences.count, "difference"))."
        )
        if adopted > 0 { lines.append("\(counted(adopted, "file")) got a row.") }
        if removed > 0 { lines.append("\(counted(removed, "file")) without a row removed.") }
        if unsettled > 0 {
            lines.append("\(counted(unsettled, "file")) of uploads and deletions in progress not compared.")
        }
        return lines.joined(separator: "\n")
    }
}

extension FileTally {
    /// The files of records in a report, as a member `files`.
    func write(to writer: JSONWriter) {
        writer.key("files")
        writer.beginObject()
        writer.member("count", count)
        writer.member("bytes", bytes)
        writer.member("present", present)
        faults.write(to: writer)
        writer.endObject()
    }

    /// `12 files, 3.4 MB; 988 were there already`
    var text: String {
        "\(counted(count, "file")), \(megabytes(Int(bytes)))"
            + (present > 0 ? "; \(decimal(present)) were there already" : "")
    }

    /// Reports files that are missing or damaged on standard error.
    func reportFaults(_ consequence: String) {
        guard !faults.isEmpty else { return }
        for line in faults.lines { complain(line) }
        complain("\(counted(faults.count, "file")) \(consequence)")
    }
}

extension FileDifferences {
    fileprivate func write(to writer: JSONWriter) {
        writer.key("differences")
        writer.beginArray()
        for difference in listed {
            writer.beginObject()
            writer.member("kind", difference.kind.rawValue)
            writer.member("name", difference.name.rawValue)
            writer.member("size", difference.size)
            if let found = difference.found { writer.member("found", found) }
            writer.endObject()
        }
        writer.endArray()
        writer.key("counts")
        writer.beginObject()
        for kind in FileDifference.Kind.allCases {
            writer.key(kind.rawValue)
            writer.integer(counts[kind] ?? 0)
        }
        writer.endObject()
    }

    /// `missing  7b0e2a7c-…-cat.png  4,711 bytes`
    fileprivate var lines: [String] {
        guard !isEmpty else { return [] }
        let rows = listed.map { difference in
            let size = counted(Int(difference.size), "byte")
            let found = difference.found.map { ", and the file has \(decimal(Int($0)))" } ?? ""
            return [difference.kind.rawValue, difference.name.rawValue, size + found]
        }
        let more = count - listed.count
        return [textTable(rows)] + (more > 0 ? ["… and \(decimal(more)) more"] : [])
    }
}
