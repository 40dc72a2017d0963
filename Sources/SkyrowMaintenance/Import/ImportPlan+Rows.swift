import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

// Files with rows of a table, as `skyrow export` writes them. They include reserved columns, and their ids are stored
// ones, which contain the database.

extension ImportPlan {
    /// Throws ``LineFault`` if a row lacks a required reserved value, or its id does not belong to its database.
    package func check(_ row: ImportRow) throws(LineFault) {
        func value(_ column: ReservedColumn) throws(LineFault) -> RecordValue? {
            guard let place = reserved.firstIndex(of: column) else { return nil }
            guard let value = row.reserved[place] else {
                throw LineFault(line: row.line, reason: "\(column.rawValue) has no value")
            }
            return value
        }
        for column in [ReservedColumn.createdAt, .updatedAt] { _ = try value(column) }
        guard case .string(let id)? = try value(.id), case .string(let database)? = try value(.database) else { return }
        guard StoredID.fits(id, database: database) else {
            throw LineFault(line: row.line, reason: "_id is not an id of the database '\(database)'")
        }
    }
}

extension StoredID {
    /// Returns whether the id satisfies the tables' constraint (`_id_fits`).
    static func fits(_ id: String, database: String) -> Bool {
        if database == "_public" { return (1...255).contains(id.utf8.count) && !id.hasPrefix("~") }
        let length = id.utf8.count - database.utf8.count
        return !database.isEmpty && !database.hasPrefix("_") && !database.contains("/")
            && id.hasPrefix("~\(database)/") && (3...257).contains(length)
    }
}

extension ReservedColumn {
    /// Reads a cell of a file for this column of a type.
    package func value(of cell: SourceRecord.Cell, _ type: RecordTypeName) throws(FieldFault) -> RecordValue {
        switch (self.type, cell) {
        case (.string, .value(.string(let text))) where self == .id:
            let prefix = "\(type)/"
            guard text.hasPrefix(prefix) else { throw FieldFault("is not the id of a \(type)") }
            return .string(String(text.dropFirst(prefix.count)))
        case (.string, .text(let field)): return .string(field.text)
        case (.string, .value(.string(let text))): return .string(text)
        case (.datetime, .text(let field)): return try FieldType.datetime.value(inText: field.text)
        case (.datetime, .value(.string(let text))): return try FieldType.datetime.value(inText: text)
        case (.json, .text(let field)): return try accessList(CSVText.json(field.text))
        case (.json, .value(.json(let text))): return try accessList(text)
        default: throw FieldFault("is not valid for this column")
        }
    }

    private func accessList(_ text: JSONText?) throws(FieldFault) -> RecordValue {
        guard let list = text.flatMap({ $0.utf8.withUnsafeBytes { AccessList(exportedJSON: $0) } }) else {
            throw FieldFault("is not a list of access entries")
        }
        return .json(JSONText(validated: Array(list.storedJSON.utf8)))
    }
}

extension FieldType {
    /// Reads a cell of a file for a column of this type in a row of a table.
    func rowValue(of cell: SourceRecord.Cell) throws(FieldFault) -> RecordValue? {
        switch (self, cell) {
        case (.reference, .text(let field)): return .string(field.text)
        case (.reference(let type), .privateReference(let target, let id)):
            guard target == type else { throw FieldFault("does not have the field's type, \(name)") }
            return .string(id)
        case (.array(.reference), .text(let field)), (.relation, .text(let field)):
            return .array(try CSVText.elements(field.text).map { $0.map { .string($0) } ?? .null })
        case (.array(.reference(let type)), .value(.json(let text))), (.relation(let type), .value(.json(let text))):
            return .array(
                try ArrayForm.elements(of: text) { json throws(FieldFault) in
                    if case .privateReference(let target, let id)? = SourceReader.privateReference(json) {
                        guard target == type else { throw FieldFault("does not have the field's type, \(name)") }
                        return .string(id)
                    }
                    return try ArrayForm(element: .reference(type)).element(json)
                }
            )
        case (.json, .text(let field)):
            guard let document = try? JSONDocument(Array(field.text.utf8), depthLimit: 10_000) else {
                throw FieldFault("is not valid JSON")
            }
            return .json(document.withRoot { $0.jsonText })
        default: return try value(of: cell)
        }
    }
}
