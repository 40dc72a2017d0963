package import SkyrowModel
package import SkyrowProtocol
package import SkyrowSystem

/// The mapping of a file's columns to fields.
package struct ImportPlan: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// The record's id.
        case id
        /// A reserved column, if the file has rows of a table.
        case reserved(ReservedColumn)
        case field(FieldName, FieldType, isNew: Bool)
        /// Excluded from the import, for the reason that the clause states.
        case leftOut(String)
    }

    package struct Column: Hashable, Sendable {
        /// The name in the file.
        package var source: String
        package var target: Target
        /// The number of records with a value in the column.
        package var valueCount: Int
    }

    /// The type's fields, known before the file is read.
    package struct KnownFields: Hashable, Sendable {
        /// The type's existing fields.
        var existing: [FieldName: FieldType] = [:]
        /// Those that PostgreSQL generates, or whose SQL type is unsupported.
        var readOnly: Set<FieldName> = []
        /// The given types of new fields; others are inferred.
        var declared: [FieldName: FieldType] = [:]
    }

    package let type: RecordTypeName
    package let columns: [Column]
    /// The imported fields, in the order of a row's values.
    package let fields: [FieldName]
    /// The imported reserved columns, in the same way; empty unless the file has rows of a table.
    package let reserved: [ReservedColumn]
    /// Each column's index among the fields, or among the reserved columns.
    private let places: [Int?]

    /// Maps the columns by the survey and the type's existing fields.
    ///
    /// A file with the column `_database` has rows that `skyrow export` wrote, which keep their reserved columns.
    ///
    /// - Parameter idColumn: The column of the ids; nil selects `_id` if it exists.
    ///
    /// Throws ``ToolError`` if a column's name cannot become a field name, or two columns get the same one.
    package init(
        type: RecordTypeName,
        survey: ImportSurvey,
        known: KnownFields,
        idColumn: String? = nil
    ) throws(ToolError) {
        self.type = type
        if let idColumn, !survey.columns.contains(idColumn) {
            let names = survey.columns.map { "'\($0)'" }.joined(separator: ", ")
            throw .failure("The file has no column '\(idColumn)' for the ids; its columns are \(names).")
        }
        let hasRows = survey.columns.contains(ReservedColumn.database.rawValue)
        if hasRows, idColumn ?? "_id" != "_id" || !survey.columns.contains("_id") {
            throw .failure("A file with the column _database must have a column _id: remove the one or add the other.")
        }
        var columns: [Column] = []
        var sources: [String: String] = [:]
        for (source, inference) in zip(survey.columns, survey.inferences) {
            let target: Target
            if hasRows, let place = ImportPlan.rowTarget(of: source, known) {
                target = place
            } else {
                target = try ImportPlan.target(of: source, inference, known, idColumn: idColumn ?? "_id")
            }
            if let name = target.name {
                if let other = sources[name] {
                    throw .failure("The columns '\(other)' and '\(source)' both become \(name): rename one.")
                }
                sources[name] = source
            }
            columns.append(Column(source: source, target: target, valueCount: inference.valueCount))
        }
        self.columns = columns
        var fields: [FieldName] = []
        var reserved: [ReservedColumn] = []
        places = columns.map { column in
            switch column.target {
            case .field(let name, _, _):
                fields.append(name)
                return fields.count - 1
            case .reserved(let name):
                reserved.append(name)
                return reserved.count - 1
            case .id, .leftOut: return nil
            }
        }
        self.fields = fields
        self.reserved = reserved
    }

    /// Returns the target of a column of an exported file; nil if the general rules apply.
    private static func rowTarget(of source: String, _ known: KnownFields) -> Target? {
        if let column = ReservedColumn(rawValue: source) ?? ReservedColumn(member: source) {
            return column == .revision
                ? .leftOut("revisions are not imported") : .reserved(column)
        }
        guard let name = try? FieldName(source) else { return nil }
        if known.readOnly.contains(name) { return .leftOut("the field is read-only") }
        return nil
    }

    private static func target(
        of source: String,
        _ inference: TypeInference,
        _ known: KnownFields,
        idColumn: String
    ) throws(ToolError) -> Target {
        if source == idColumn { return .id }
        if source.hasPrefix("_"), source != FieldName.parent.rawValue {
            return .leftOut("the name begins with an underscore")
        }
        guard let name = source == FieldName.parent.rawValue ? .parent : fieldName(from: source) else {
            throw .failure("The column '\(source)' has no letter or digit for a field name: rename it.")
        }
        if let type = known.existing[name] { return .field(name, type, isNew: false) }
        guard let type = known.declared[name] ?? inference.type else { return .leftOut("it has no value") }
        return .field(name, type, isNew: true)
    }

    /// Whether the file has rows of a table, rather than another program's records.
    package var hasRows: Bool { !reserved.isEmpty }

    /// The columns that the store writes.
    var importColumns: ImportColumns { ImportColumns(type: type, reserved: reserved, fields: fields) }

    /// The columns for the reader of a file with rows; nil for other files.
    package var table: [ImportReading.Column]? {
        guard hasRows else { return nil }
        return columns.map { column in
            if case .field(_, let type, _) = column.target {
                return ImportReading.Column(name: column.source, type: type)
            }
            return ImportReading.Column(name: column.source, type: nil)
        }
    }

    /// The fields to add to the table.
    var newFields: [FieldName: FieldType] {
        var fields: [FieldName: FieldType] = [:]
        for column in columns {
            if case .field(let name, let type, isNew: true) = column.target { fields[name] = type }
        }
        return fields
    }

    /// Makes a row of the table. Throws ``LineFault`` for the first value that does not fit its column.
    package func row(from source: SourceRecord) throws(LineFault) -> ImportRow {
        var row = ImportRow(
            line: source.line,
            reserved: Array(repeating: nil, count: reserved.count),
            values: Array(repeating: nil, count: fields.count)
        )
        for (index, cell) in source.cells {
            guard columns.indices.contains(index) else {
                throw LineFault(line: source.line, reason: "a member is in no other record")
            }
            let column = columns[index]
            do throws(FieldFault) {
                switch column.target {
                case .leftOut: break
                case .id: row.id = try id(cell)
                case .reserved(let name):
                    if let place = places[index] { row.reserved[place] = try name.value(of: cell, type) }
                case .field(_, let type, _):
                    guard let place = places[index] else { break }
                    row.values[place] = try hasRows ? type.rowValue(of: cell) : type.value(of: cell)
                }
            } catch {
                throw LineFault(line: source.line, reason: "\(column.source) \(error.reason)")
            }
        }
        if hasRows { try check(row) }
        return row
    }

    private func id(_ cell: SourceRecord.Cell) throws(FieldFault) -> String {
        let text: String
        switch cell {
        case .text(let field): text = field.text
        case .value(.string(let value)): text = value
        case .value(.integer(let value)): text = String(value)
        case .value(.reference(let id)): text = id.description
        case .value, .privateReference: throw FieldFault("must be text or an integer to be an id")
        }
        let prefix = "\(type)/"
        let id = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        do throws(SkyrowError) {
            let whole = try RecordID(type: type, id: id)
            guard !whole.isTemporary else { throw SkyrowError.invalidArgument("") }
            return whole.id
        } catch {
            throw FieldFault("is not an id: an id has 1 to 255 bytes, no NUL, and does not begin with '~' or '$'")
        }
    }
}

extension ImportPlan.Target {
    /// The name of a target that must be unique, for a message.
    fileprivate var name: String? {
        switch self {
        case .id: "the id"
        case .reserved(let column): column.rawValue
        case .field(let name, _, _): "the field \(name)"
        case .leftOut: nil
        }
    }
}

extension FieldType {
    /// Reads a cell of a file for a column of this type; nil if it means "no value".
    package func value(of cell: SourceRecord.Cell) throws(FieldFault) -> RecordValue? {
        switch cell {
        case .privateReference:
            throw FieldFault("is not a record id")
        case .text(let field):
            if field.text.isEmpty { return self == .string ? .string("") : nil }
            return try value(inText: field.text)
        case .value(.null): return nil
        case .value(let value): return try self.value(value)
        }
    }
}
