import SkyrowModel
import SkyrowWire

/// One record of a file, not yet judged by the columns of a table.
struct SourceRecord: Hashable, Sendable {
    /// What a file has in one place.
    enum Cell: Hashable, Sendable {
        case text(CSVField)
        case value(RecordValue)
    }

    var line: Int
    /// By the index of the column; what is missing has no entry.
    var cells: [(column: Int, cell: Cell)]

    static func == (a: SourceRecord, b: SourceRecord) -> Bool {
        a.line == b.line && a.cells.elementsEqual(b.cells) { $0.column == $1.column && $0.cell == $1.cell }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(line)
    }
}

/// How the bytes of a file are to be understood.
struct ImportReading: Hashable, Sendable {
    var format: ImportFormat
    /// What stands between the fields of a CSV file.
    var delimiter = UInt8(ascii: ",")
    /// Unquoted texts of a CSV file that mean "no value", beside the empty one.
    var nullTexts: Set<String> = []
}

/// Takes the bytes of a file and gives its records, with the columns that it has met so far.
struct SourceReader: Sendable {
    private enum Parser: Sendable {
        case csv(CSVParser)
        case json(JSONElementParser)
    }

    private let reading: ImportReading
    private var parser: Parser
    private var hasHeader = false
    private var indexes: [String: Int] = [:]
    /// The names that the file gives to its columns, in their order.
    private(set) var columns: [String] = []

    init(_ reading: ImportReading) {
        self.reading = reading
        switch reading.format {
        case .csv: parser = .csv(CSVParser(delimiter: reading.delimiter))
        case .json, .ndjson: parser = .json(JSONElementParser(format: reading.format))
        }
    }

    /// Takes the next bytes, or none at the end of the file, and gives the records that they complete.
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
                    // Without its header the rest of a file means nothing.
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
            document = try JSONDocument(element.text)
        } catch {
            throw fault("\(error)")
        }
        let members = try document.withRoot { root throws(LineFault) -> [(String, RecordValue)] in
            guard root.isObject else { throw fault("there is no JSON object") }
            var members: [(String, RecordValue)] = []
            for (name, json) in root.uniqueMembers {
                do throws(SkyrowError) {
                    // Reserved members other than the id are left out, whatever they hold.
                    if name.hasPrefix("_"), name != "_id" {
                        members.append((name, .null))
                    } else if let value = try RecordValue(json, field: name) {
                        members.append((name, value))
                    }
                } catch {
                    throw fault("\(name): \(error.message)")
                }
            }
            return members
        }
        var cells: [(column: Int, cell: SourceRecord.Cell)] = []
        for (name, value) in members {
            let column = indexes[name] ?? columns.count
            if column == columns.count {
                indexes[name] = column
                columns.append(name)
            }
            if value != .null { cells.append((column, .value(value))) }
        }
        return SourceRecord(line: element.line, cells: cells)
    }
}
