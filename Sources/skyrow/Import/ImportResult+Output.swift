import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowStore

extension ImportResult {
    /// `58,788 records imported to movie in 1.9 s, 30,941 a second; 3 left out`
    var sentence: String {
        guard let imported else { return "Nothing was imported, because of --dry-run." }
        let rate = Int(Double(imported) / max(elapsed.inSeconds, 1e-3))
        return "\(decimal(imported)) records imported to \(plan.type) in \(elapsed.inTenths), "
            + "\(decimal(rate)) a second" + (leftOut > 0 ? "; \(decimal(leftOut)) left out" : "")
    }

    /// `{"command":"import","path":"movies.csv","type":"movie","rows":58788,"left_out":3,"seconds":1.9,"columns":[…]}`
    var json: String {
        jsonObject { writer in
            writer.member("command", "import")
            writer.member("path", path)
            writer.member("type", plan.type.rawValue)
            if imported == nil { writer.member("dry_run", true) }
            writer.member("rows", imported ?? 0)
            writer.member("left_out", leftOut)
            writer.key("seconds")
            writer.number((elapsed.inSeconds * 1000).rounded() / 1000)
            writer.beginArray("columns")
            for column in plan.columns { write(column, to: writer) }
            writer.endArray()
        }
    }

    private func write(_ column: ImportPlan.Column, to writer: JSONWriter) {
        writer.beginObject()
        writer.member("column", column.source)
        switch column.target {
        case .id:
            writer.member("field", "_id")
        case .reserved(let reserved):
            writer.member("field", reserved.rawValue)
        case .field(let name, let type, let isNew):
            writer.member("field", name.rawValue)
            writer.member("type", type.name)
            writer.member("new", isNew)
        case .leftOut(let reason):
            writer.member("left_out", reason)
        }
        writer.member("values", column.valueCount)
        writer.endObject()
    }
}
