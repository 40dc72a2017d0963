package import SkyrowModel
package import SkyrowSystem

/// Where each column of a file goes, and as what.
package struct ImportPlan: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// The record's own id.
        case id
        /// A reserved column of the table whose rows the file has.
        case reserved(ReservedColumn)
        case field(FieldName, FieldType, isNew: Bool)
        /// Nothing of it is imported, because of what this clause says.
        case leftOut(String)
    }

    package struct Column: Hashable, Sendable {
        /// What the file calls it.
        package var source: String
        package var target: Target
        /// How many records have a value in it.
        package var valueCount: Int
    }

    /// What is known of the type before the file is looked at.
    package struct KnownFields: Hashable, Sendable {
        /// The fields that the type has already.
        var existing: [FieldName: FieldType] = [:]
        /// Those among them that PostgreSQL fills itself, or whose SQL type is not ours.
        var readOnly: Set<FieldName> = []
        /// The types of fields that are to be made, where they are given; others are inferred.
        var declared: [FieldName: FieldType] = [:]
    }

    package let type: RecordTypeName
    package let columns: [Column]
    /// The fields that are imported to, in the order of the values of each row.
    package let fields: [FieldName]
    /// The reserved columns that are imported to, likewise; none unless the file has rows of a table.
    package let reserved: [ReservedColumn]
    /// For each column its place among the fields, or among the reserved ones.
    private let places: [Int?]

    /// Decides by the survey and the fields that the type has already.
    ///
    /// A file with the column `_database` has rows that `skyrow export` wrote: they keep their reserved columns.
    ///
    /// - Parameter idColumn: the column that holds the ids; nil takes `_id` if there is one.
    ///
    /// Throws ``ToolError`` when a column's name cannot be made a field's, or two become the same.
    package init(
        type: RecordTypeName,
        survey: ImportSurvey,
        known: KnownFields,
        idColumn: String? = nil
    ) throws(ToolError) {
        self.type = type
        if let idColumn, !survey.columns.contains(idColumn) {
            let names = survey.columns.map { "'\($0)'" }.joined(separator: ", ")
            throw .failure("There is no column '\(idColumn)' for the ids; the file has \(names).")
        }
        let hasRows = survey.columns.contains(ReservedColumn.database.rawValue)
        if hasRows, idColumn ?? "_id" != "_id" || !survey.columns.contains("_id") {
            throw .failure("A file with the column _database has its ids in _id; take the one away or add the other.")
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

    /// Where a column of an exported file goes; nil leaves it to what holds for any file.
    private static func rowTarget(of source: String, _ known: KnownFields) -> Target? {
        if let column = ReservedColumn(rawValue: source) ?? ReservedColumn(member: source) {
            return column == .revision
                ? .leftOut("a revision belongs to the database that wrote it") : .reserved(column)
        }
        guard let name = try? FieldName(source) else { return nil }
        if known.readOnly.contains(name) { return .leftOut("this field can be read only") }
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
            return .leftOut("its name begins with an underscore")
        }
        guard let name = source == FieldName.parent.rawValue ? .parent : fieldName(from: source) else {
            throw .failure("The column '\(source)' has no letter or digit to make a field's name from: rename it.")
        }
        if let type = known.existing[name] { return .field(name, type, isNew: false) }
        guard let type = known.declared[name] ?? inference.type else { return .leftOut("it has no value") }
        return .field(name, type, isNew: true)
    }

    /// Whether the file has rows of a table, and not records of another program.
    package var hasRows: Bool { !reserved.isEmpty }

    /// What the store is to write.
    var importColumns: ImportColumns {
        ImportColumns(type: type, reserved: reserved, fields: fields)
    }

    /// The columns as a reader of rows needs to know them; nil for any other file.
    package var table: [ImportReading.Column]? {
        guard hasRows else { return nil }
        return columns.map { column in
            if case .field(_, let type, _) = column.target {
                return ImportReading.Column(name: column.source, type: type)
            }
            return ImportReading.Column(name: column.source, type: nil)
        }
    }

    /// The fields that the table is to get.
    var newFields: [FieldName: FieldType] {
        var fields: [FieldName: FieldType] = [:]
        for column in columns {
            if case .field(let name, let type, isNew: true) = column.target { fields[name] = type }
        }
        return fields
    }

    /// Makes a row of the table; throws ``LineFault`` with the first value that does not fit its column.
    package func row(from source: SourceRecord) throws(LineFault) -> ImportRow {
        var row = ImportRow(
            line: source.line,
            reserved: Array(repeating: nil, count: reserved.count),
            values: Array(repeating: nil, count: fields.count)
        )
        for (index, cell) in source.cells {
            guard columns.indices.contains(index) else {
                throw LineFault(line: source.line, reason: "there is a member that no other record has")
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
        case .value, .privateReference: throw FieldFault("is neither text nor an integer, as an id must be")
        }
        let prefix = "\(type)/"
        let id = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        do throws(SkyrowError) {
            let whole = try RecordID(type: type, id: id)
            guard !whole.isTemporary else { throw SkyrowError.invalidArgument("") }
            return whole.id
        } catch {
            throw FieldFault("is no id: that is 1 to 255 bytes, holds no NUL and begins with neither '~' nor '$'")
        }
    }
}

extension ImportPlan.Target {
    /// What there can be only one of, for a sentence.
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
    /// Reads what a file has in one place for a column of this type; nil when it means "no value".
    package func value(of cell: SourceRecord.Cell) throws(FieldFault) -> RecordValue? {
        switch cell {
        case .privateReference:
            throw FieldFault("is no id of a record")
        case .text(let field):
            if field.text.isEmpty { return self == .string ? .string("") : nil }
            return try value(inText: field.text)
        case .value(.null): return nil
        case .value(let value): return try self.value(value)
        }
    }
}
