import SkyrowJSON
package import SkyrowModel
import SkyrowProtocol

/// One record of a file, not yet checked against a table's columns.
package struct SourceRecord: Hashable, Sendable {
    /// A value in a file.
    package enum Cell: Hashable, Sendable {
        case text(CSVField)
        case value(RecordValue)
        /// A reference to a private record, by its stored id.
        case privateReference(RecordTypeName, String)
    }

    var line: Int
    /// The values by column index; missing ones have no entry.
    var cells: [(column: Int, cell: Cell)]

    package static func == (a: SourceRecord, b: SourceRecord) -> Bool {
        a.line == b.line && a.cells.elementsEqual(b.cells) { $0.column == $1.column && $0.cell == $1.cell }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(line)
    }
}

/// How a file's bytes are interpreted.
package struct ImportReading: Hashable, Sendable {
    var format: FileFormat
    /// The field delimiter of a CSV file.
    var delimiter = UInt8(ascii: ",")
    /// Unquoted texts of a CSV file that mean "no value", in addition to the empty one.
    var nullTexts: Set<String> = []
    /// The columns of a file with rows of a table, with the types of fields; nil for other files.
    ///
    /// A value in a JSON column is then taken literally.
    var table: [Column]?

    package struct Column: Hashable, Sendable {
        /// The name in the file.
        var name: String
        var type: FieldType?
    }
}

/// An incremental reader of a file's records, with the columns found so far.
struct SourceReader: Sendable {
    private enum Parser: Sendable {
        case csv(CSVParser)
        case json(JSONElementParser)
    }

    private let reading: ImportReading
    private var parser: Parser
    private var hasHeader = false
    private var indexes: [String: Int] = [:]
    /// The column names in the file, in order.
    private(set) var columns: [String] = []
    private let jsonColumns: Set<String>

    init(_ reading: ImportReading) {
        self.reading = reading
        jsonColumns = Set((reading.table ?? []).filter { $0.type == .json }.map(\.name))
        if let table = reading.table, reading.format != .csv {
            columns = table.map(\.name)
            for (place, name) in columns.enumerated() { indexes[name] = place }
        }
        switch reading.format {
        case .csv: parser = .csv(CSVParser(delimiter: reading.delimiter))
        case .json, .ndjson: parser = .json(JSONElementParser(format: reading.format))
        }
    }

    /// Takes the next bytes, or none at the end of the file, and returns the records that they complete.
    mutating func take(_ bytes: [UInt8]) -> [Result<SourceRecord, LineFault>] {
        switch parser {
        case .csv(var csv):
            var lines: [Result<CSVLine, LineFault>] = []
            if bytes.isEmpty { csv.finish(into: &lines) } else { csv.take(bytes, into: &lines) }
            parser = .csv(csv)
            return lines.compactMap { line in
                switch line {
                case .success(let line): record(line)
                case .failure(var fault):
                    // Without its header, the rest of a file is unreadable.
                    {
                        if !hasHeader { fault.endsFile = true }
                        return .failure(fault)
                    }()
                }
            }
        case .json(var json):
            var elements: [Result<JSONElement, LineFault>] = []
            if bytes.isEmpty { json.finish(into: &elements) } else { json.take(bytes, into: &elements) }
            parser = .json(json)
            return elements.map { element in
                element.flatMap { element in
                    Result { () throws(LineFault) in try record(element) }
                }
            }
        }
    }

    private mutating func record(_ line: CSVLine) -> Result<SourceRecord, LineFault>? {
        guard hasHeader else {
            hasHeader = true
            columns = line.fields.map(\.text)
            if let table = reading.table, table.map(\.name) != columns {
                let reason = "the header differs from the exported one"
                return .failure(LineFault(line: line.number, reason: reason, endsFile: true))
            }
            return nil
        }
        guard line.fields.count == columns.count else {
            let reason = "fields: \(line.fields.count), columns in the header: \(columns.count)"
            return .failure(LineFault(line: line.number, reason: reason))
        }
        var cells: [(column: Int, cell: SourceRecord.Cell)] = []
        for (column, field) in line.fields.enumerated() {
            let isMissing = !field.isQuoted && (field.text.isEmpty || reading.nullTexts.contains(field.text))
            if !isMissing { cells.append((column, .text(field))) }
        }
        return .success(SourceRecord(line: line.number, cells: cells))
    }

    private mutating func record(_ element: JSONElement) throws(LineFault) -> SourceRecord {
        func fault(_ reason: String) -> LineFault { LineFault(line: element.line, reason: reason) }
        let document: JSONDocument
        do {
            // PostgreSQL allows deeper nesting than clients may use.
            document = try JSONDocument(
                element.text,
                depthLimit: reading.table == nil ? JSONDocument.defaultDepthLimit : 10_000
            )
        } catch {
            throw fault("\(error)")
        }
        let members = try document.withRoot { root throws(LineFault) -> [(String, SourceRecord.Cell)] in
            guard root.isObject else { throw fault("the record is not a JSON object") }
            var members: [(String, SourceRecord.Cell)] = []
            for (name, json) in root.uniqueMembers {
                do throws(SkyrowError) {
                    if name.hasPrefix("_"), name != "_id", name != FieldName.parent.rawValue {
                        members.append((name, SourceReader.reserved(json)))
                    } else if jsonColumns.contains(name) {
                        members.append((name, .value(.json(json.jsonText))))
                    } else if let reference = SourceReader.privateReference(json) {
                        members.append((name, reference))
                    } else if let value = try RecordValue(json, field: name) {
                        members.append((name, .value(value)))
                    }
                } catch {
                    throw fault("\(name): \(error.message)")
                }
            }
            return members
        }
        var cells: [(column: Int, cell: SourceRecord.Cell)] = []
        for (name, cell) in members {
            let column = indexes[name] ?? columns.count
            if column == columns.count {
                indexes[name] = column
                columns.append(name)
            }
            if cell != .value(.null) { cells.append((column, cell)) }
        }
        return SourceRecord(line: element.line, cells: cells)
    }

    /// Reads a reserved member. It is not checked here, as only rows of a table use it.
    private static func reserved(_ json: JSONView) -> SourceRecord.Cell {
        if json.isNull { return .value(.null) }
        if let text = json.string { return .value(.string(text)) }
        return .value(.json(json.jsonText))
    }

    static func privateReference(_ json: JSONView) -> SourceRecord.Cell? {
        guard json.isObject, json["$type"]?.equals("ref") ?? false, let text = json["$id"]?.string,
            let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")),
            text.utf8[text.utf8.index(after: slash)...].first == UInt8(ascii: "~"),
            let type = try? RecordTypeName(String(text[..<slash]))
        else { return nil }
        return .privateReference(type, String(text[text.utf8.index(after: slash)...]))
    }
}
