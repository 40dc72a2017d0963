import SkyrowJSON
import SkyrowProtocol
import SkyrowServer

/// The output of `skyrow config`: every setting with its text and origin.
struct SettingsReport: Sendable {
    struct Line: Hashable, Sendable {
        var row: SettingRow
        /// The text; nil without a value or a default.
        var text: String?
        /// The origin; nil for a default.
        var origin: SettingOrigin?
    }

    let lines: [Line]

    init(_ settings: Settings) {
        let derived = settings.derivedDefaults
        lines = SettingsTable.groups.flatMap { $0.settings }.map { setting in
            let row = setting.row
            guard let given = settings.given(row) else {
                let text = derived[row.name] ?? row.defaultValue
                return Line(row: row, text: text.isEmpty ? nil : text)
            }
            return Line(row: row, text: row.isSecret ? "<secret>" : given.text, origin: given.origin)
        }
    }

    /// The report as a table with a line per setting.
    var text: String {
        let cells = lines.map { line in
            [line.row.name, line.text ?? "-", line.origin?.description ?? "default"]
        }
        return textTable([["setting", "value", "from"]] + cells)
    }

    /// `{"settings":[{"name":"port","value":"8080","from":"flag","origin":"--port","secret":false,"reloads":false},…]}`
    var json: String {
        jsonObject { writer in
            writer.key("settings")
            writer.beginArray()
            for line in lines {
                writer.beginObject()
                writer.member("name", line.row.name)
                writer.key("value")
                if let text = line.text { writer.string(text) } else { writer.null() }
                writer.member("from", line.origin?.kind ?? "default")
                if let origin = line.origin { writer.member("origin", origin.description) }
                writer.member("secret", line.row.isSecret)
                writer.member("reloads", line.row.reloads)
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

extension SettingOrigin {
    fileprivate var kind: String {
        switch self {
        case .flag: "flag"
        case .environment: "environment"
        case .file: "file"
        case .table: "table"
        case .preset: "compatibility"
        }
    }
}
