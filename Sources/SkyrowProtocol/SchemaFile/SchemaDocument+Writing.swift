import SkyrowJSON
package import SkyrowModel

extension SchemaDocument {
    /// The text of a schema file, a line for each field and index, everything in the order of the names.
    package var schemaFile: String {
        let types = self.types.sorted { $0.key < $1.key }.map { name, type in
            "    \(quoted(name.rawValue)): {\n\(type.lines.joined(separator: ",\n"))\n    }"
        }
        var members = ["  \"record_types\": {\n\(types.joined(separator: ",\n"))\n  }"]
        if let accessOfAll {
            members.append("  \"access\": \(written { $0.documentedFieldAccess(accessOfAll) })")
        }
        if !acceptedDrift.isEmpty {
            let keys = acceptedDrift.sorted().map { "    \(quoted($0))" }
            members.append("  \"accepted_drift\": [\n\(keys.joined(separator: ",\n"))\n  ]")
        }
        return "{\n\(members.joined(separator: ",\n"))\n}\n"
    }
}

extension DocumentedType {
    fileprivate var lines: [String] {
        var lines: [String] = []
        if let renamedFrom { lines.append("      \"renamed_from\": \(quoted(renamedFrom.rawValue))") }
        if let comment { lines.append("      \"comment\": \(quoted(comment))") }
        lines.append(list("fields", fields.sorted { $0.key < $1.key }.map { $0.value.line(named: $0.key) }))
        if !indexes.isEmpty { lines.append(list("indexes", indexes.sorted().map(\.line))) }
        if live != .full { lines.append("      \"live\": \(quoted(live.rawValue))") }
        if isFollowed { lines.append("      \"sync\": true") }
        if let access {
            lines.append("      \"access\": \(written { $0.documentedAccess(access) })")
        }
        return lines
    }

    private func list(_ name: String, _ elements: [String]) -> String {
        elements.isEmpty
            ? "      \"\(name)\": []"
            : "      \"\(name)\": [\n" + elements.map { "        \($0)" }.joined(separator: ",\n") + "\n      ]"
    }
}

extension DocumentedField {
    fileprivate func line(named name: FieldName) -> String {
        var members = ["\"name\": \(quoted(name.rawValue))", "\"type\": \(quoted(type.name))"]
        if case .unknown(let sqlType) = type { members.append("\"sql_type\": \(quoted(sqlType))") }
        if onDelete != .restrict { members.append("\"on_delete\": \(quoted(onDelete.rawValue))") }
        if textLanguage != .words {
            let language = quoted(textLanguage.rawValue)
            members.append("\"text\": \(storesWords ? "{\"language\": \(language), \"stored\": true}" : language)")
        }
        if isGenerated { members.append("\"generated\": true") }
        if let renamedFrom { members.append("\"renamed_from\": \(quoted(renamedFrom.rawValue))") }
        if let defaultValue {
            members.append("\"default\": \(written { $0.value(defaultValue) })")
        }
        if let comment { members.append("\"comment\": \(quoted(comment))") }
        return "{\(members.joined(separator: ", "))}"
    }
}

extension DocumentedIndex {
    fileprivate var line: String {
        let names = columns.map { quoted($0.text) }.joined(separator: ", ")
        var members = ["\"fields\": [\(names)]"]
        if isUnique { members.append("\"unique\": true") }
        if method != .btree { members.append("\"method\": \(quoted(method.rawValue))") }
        return "{\(members.joined(separator: ", "))}"
    }
}

private func quoted(_ text: String) -> String {
    written { $0.string(text) }
}

private func written(_ write: (JSONWriter) -> Void) -> String {
    let writer = JSONWriter()
    write(writer)
    return String(decoding: writer.bytes, as: UTF8.self)
}
