import SkyrowModel
import SkyrowStore

/// Where each column of a file goes, and as what.
struct ImportPlan: Hashable, Sendable {
    enum Target: Hashable, Sendable {
        /// The record's own id.
        case id
        case field(FieldName, FieldType, isNew: Bool)
        /// Nothing of it is imported, because of what this clause says.
        case leftOut(String)
    }

    struct Column: Hashable, Sendable {
        /// What the file calls it.
        var source: String
        var target: Target
        /// How many records have a value in it.
        var valueCount: Int
    }

    let type: RecordTypeName
    let columns: [Column]
    /// The fields that are imported to, in the order of the values of each row.
    let fields: [FieldName]
    /// For each column its place among the fields.
    private let places: [Int?]

    /// Decides by the survey and the fields that the type has already.
    ///
    /// - Parameter idColumn: the column that holds the ids; nil takes `_id` if there is one.
    ///
    /// Throws ``ToolError`` when a column's name cannot be made a field's, or two become the same.
    init(
        type: RecordTypeName,
        survey: ImportSurvey,
        existing: [FieldName: FieldType],
        idColumn: String?
    ) throws(ToolError) {
        self.type = type
        if let idColumn, !survey.columns.contains(idColumn) {
            let names = survey.columns.map { "'\($0)'" }.joined(separator: ", ")
            throw .failure("There is no column '\(idColumn)' for the ids; the file has \(names).")
        }
        var columns: [Column] = []
        var sources: [FieldName: String] = [:]
        for (source, inference) in zip(survey.columns, survey.inferences) {
            let target = try ImportPlan.target(of: source, inference, existing: existing, idColumn: idColumn ?? "_id")
            if case .field(let name, _, _) = target {
                if let other = sources[name] {
                    throw .failure("The columns '\(other)' and '\(source)' both become the field \(name): rename one.")
                }
                sources[name] = source
            }
            columns.append(Column(source: source, target: target, valueCount: inference.valueCount))
        }
        guard columns.filter({ $0.target == .id }).count <= 1 else {
            throw .failure("There are two columns '\(idColumn ?? "_id")'.")
        }
        self.columns = columns
        var fields: [FieldName] = []
        places = columns.map { column in
            guard case .field(let name, _, _) = column.target else { return nil }
            fields.append(name)
            return fields.count - 1
        }
        self.fields = fields
    }

    private static func target(
        of source: String,
        _ inference: TypeInference,
        existing: [FieldName: FieldType],
        idColumn: String
    ) throws(ToolError) -> Target {
        if source == idColumn { return .id }
        if source.hasPrefix("_") { return .leftOut("its name begins with an underscore") }
        guard let name = fieldName(from: source) else {
            throw .failure("The column '\(source)' has no letter or digit to make a field's name from: rename it.")
        }
        if let type = existing[name] { return .field(name, type, isNew: false) }
        guard let type = inference.type else { return .leftOut("it has no value") }
        return .field(name, type, isNew: true)
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
    func row(from source: SourceRecord) throws(LineFault) -> ImportRow {
        var row = ImportRow(line: source.line, values: Array(repeating: nil, count: fields.count))
        for (index, cell) in source.cells {
            let column = columns[index]
            do throws(FieldFault) {
                switch column.target {
                case .leftOut: break
                case .id: row.id = try id(cell)
                case .field(_, let type, _):
                    if let place = places[index] { row.values[place] = try type.value(of: cell) }
                }
            } catch {
                throw LineFault(line: source.line, reason: "\(column.source) \(error.reason)")
            }
        }
        return row
    }

    private func id(_ cell: SourceRecord.Cell) throws(FieldFault) -> String {
        let text: String
        switch cell {
        case .text(let field): text = field.text
        case .value(.string(let value)): text = value
        case .value(.integer(let value)): text = String(value)
        case .value(.reference(let id)): text = id.description
        case .value: throw FieldFault("is neither text nor an integer, as an id must be")
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

extension FieldType {
    /// Reads what a file has in one place for a column of this type; nil when it means "no value".
    func value(of cell: SourceRecord.Cell) throws(FieldFault) -> RecordValue? {
        switch cell {
        case .text(let field):
            if field.text.isEmpty { return self == .string ? .string("") : nil }
            return try value(inText: field.text)
        case .value(let value):
            switch (self, value) {
            case (_, .null): return nil
            case (.string, .string), (.integer, .integer), (.number, .number), (.boolean, .boolean),
                (.datetime, .datetime),
                (.json, .json), (.bytes, .bytes), (.sequence, .sequence), (.sequence, .integer):
                return value
            case (.number, .integer(let number)):
                guard number.magnitude <= 1 << 53 else { throw FieldFault("has more digits than a number keeps") }
                return .number(Double(number))
            // JSON has no spelling of its own for these.
            case (.datetime, .string(let text)), (.reference, .string(let text)):
                return try self.value(inText: text)
            case (.reference(let type), .reference(let id)) where id.type == type:
                return value
            default:
                throw FieldFault("is not of the field's type, \(name)")
            }
        }
    }
}
