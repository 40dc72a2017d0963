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
            writer.key("command")
            writer.string("import")
            writer.key("path")
            writer.string(path)
            writer.key("type")
            writer.string(plan.type.rawValue)
            if imported == nil {
                writer.key("dry_run")
                writer.boolean(true)
            }
            writer.key("rows")
            writer.integer(imported ?? 0)
            writer.key("left_out")
            writer.integer(leftOut)
            writer.key("seconds")
            writer.number((elapsed.inSeconds * 1000).rounded() / 1000)
            writer.key("columns")
            writer.beginArray()
            for column in plan.columns { write(column, to: writer) }
            writer.endArray()
        }
    }

    private func write(_ column: ImportPlan.Column, to writer: JSONWriter) {
        writer.beginObject()
        writer.key("column")
        writer.string(column.source)
        switch column.target {
        case .id:
            writer.key("field")
            writer.string("_id")
        case .reserved(let reserved):
            writer.key("field")
            writer.string(reserved.rawValue)
        case .field(let name, let type, let isNew):
            writer.key("field")
            writer.string(name.rawValue)
            writer.key("type")
            writer.string(type.name)
            writer.key("new")
            writer.boolean(isNew)
        case .leftOut(let reason):
            writer.key("left_out")
            writer.string(reason)
        }
        writer.key("values")
        writer.integer(column.valueCount)
        writer.endObject()
    }
}
