import SkyrowJSON
import SkyrowMaintenance

extension RunSummary {
    /// `{"command":"export","path":"movies","rows":58788,"bytes":6127830,"seconds":1.25,"types":[…]}`
    var json: String { jsonObject { write(to: $0) } }

    private func write(to writer: JSONWriter) {
        writer.member("command", command)
        if let path { writer.member("path", path) }
        if isDryRun { writer.member("dry_run", true) }
        writer.member("rows", rows)
        writer.member("bytes", bytes)
        writer.key("seconds")
        writer.number((elapsed.inSeconds * 1000).rounded() / 1000)
        writer.key(partsName)
        writer.beginArray()
        for part in parts {
            writer.beginObject()
            writer.member("name", part.name)
            writer.member("rows", part.rows)
            if let bytes = part.bytes { writer.member("bytes", bytes) }
            writer.endObject()
        }
        writer.endArray()
        if !leftOut.isEmpty { writer.member("left_out", leftOut) }
        files?.write(to: writer)
        if filesLeftOut > 0 { writer.member("files_left_out", filesLeftOut) }
        guard let fileReport else { return }
        writer.beginObject("verification")
        fileReport.write(to: writer)
        writer.endObject()
    }

    /// The number of rows per second, such as `58,788`.
    var rate: String { decimal(Int(Double(rows) / max(elapsed.inSeconds, 1e-3))) }
}

/// `12.3 MB`
func megabytes(_ bytes: Int) -> String {
    let tenths = (bytes + 50_000) / 100_000
    return "\(decimal(tenths / 10)).\(tenths % 10) MB"
}
