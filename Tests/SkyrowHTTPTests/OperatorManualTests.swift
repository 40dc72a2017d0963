import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP

/// The manual and the reader of predicates say of operators what their table says.
@Suite struct OperatorManualTests {
    private static let classes: [(String, ValueClasses)] = [
        ("`string`", .string), ("`integer`", .number), ("`boolean`", .boolean), ("`datetime`", .datetime),
        ("`bytes`", .bytes), ("`ref(type)`", .reference), ("`asset`", .asset), ("`array(…)`", .array),
        ("`json`", .json),
        ("inside `json`", .jsonPath), ("`location`", .location), ("`geometry`", .geometry),
        ("`relation(type)`", .relation),
        ("`_id`", .id), ("`_owner_id`", .user),
        ("`_database_id`", .database), ("`_access`", .opaque),
    ]

    /// The cells of the rows of a table of the manual, its header first.
    private func rows(after header: String) throws -> [[String]] {
        let lines = try ProtocolManual().text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix(header) })
        return lines[start...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingPrefix(" ").description }
        }
    }

    @Test func theManualSaysForWhichTypesAnOperatorHasAMeaning() throws {
        let rows = try rows(after: "| Field | `eq` | `neq` |")
        let columns = rows[0].dropFirst().map { cell in
            cell.split(separator: "`").compactMap { name in OperatorTable.all.first { $0.name == name } }
        }
        // Every operator but those that join predicates, and `exists`, which every type has.
        let operators = OperatorTable.all.filter { !$0.classes.isEmpty && $0.classes != .all }
        #expect(Set(columns.joined()) == Set(operators))
        #expect(OperatorTable.all.filter { $0.classes == .all }.map(\.name) == ["exists"])
        for (name, valueClass) in Self.classes {
            let row = try #require(rows.first { $0[0].hasPrefix(name) })
            #expect(row.count == columns.count + 1, "\(name)")
            for (operators, cell) in zip(columns, row.dropFirst()) {
                for row in operators {
                    let hasMeaning = row.classes.contains(valueClass)
                    #expect(cell.contains("108") != hasMeaning, "\(row.name) for \(name): \(cell)")
                }
            }
        }
        #expect(rows.count == Self.classes.count + 2)
    }

    @Test func theManualNamesEveryOperator() throws {
        let text = try ProtocolManual().text
        for row in OperatorTable.all { #expect(text.contains("[\"\(row.name)\", "), "\(row.name)") }
    }

    @Test func theReaderTakesAsManyOperandsAsTheTableSays() throws {
        func isRead(_ name: String, _ operands: [String]) throws -> Bool {
            let text = "[" + (["\"\(name)\""] + operands).joined(separator: ",") + "]"
            do {
                try JSONDocument(Array(text.utf8)).withRoot { view throws(any Error) in _ = try RecordPredicate(view) }
                return true
            } catch is SkyrowError {
                return false
            }
        }
        let path = #"{"$type":"keypath","$val":"a"}"#
        let location = #"{"$type":"geo","$lng":1,"$lat":2}"#
        for row in OperatorTable.all {
            let operands: [String] =
                switch row.operands {
                case .joined, .predicates, .predicate: Array(repeating: "[\"eq\",\(path),1]", count: 4)
                case .comparison, .pattern, .text, .element, .flag, .range: [path, "\"x\"", "1", "1"]
                case .membership, .list: [path, "[1]", "1", "1"]
                case .elements: [path, "[\"eq\",\(path),1]", "1", "1"]
                case .words: [path, "\"x\"", "1", "1"]
                case .regex: [path, "\"x\"", "\"i\"", "1"]
                case .owner: ["{\"$type\":\"ref\",\"$id\":\"post/1\"}", "\"likes\"", "1", "1"]
                case .query: [path, "{\"record_type\":\"note\"}", "1", "1"]
                case .near: [path, location, "1", "1"]
                case .box: [path, location, location, "1"]
                case .polygon: [path, "[\(location),\(location),\(location)]", "1", "1"]
                }
            for count in 0...4 {
                let fits = row.arity.contains(count)
                #expect(try isRead(row.name, Array(operands.prefix(count))) == fits, "\(row.name) with \(count)")
            }
        }
    }

    @Test func theDocumentListsEveryOperator() throws {
        let document = try JSONValue(String(decoding: OpenRPCDocument.text.utf8, as: UTF8.self))
        let forms = document["components"]["schemas"]["Predicate"]["anyOf"].elements
        let names = forms.flatMap { $0["items"].elements[0]["enum"].elements.compactMap(\.string) }
        #expect(names.sorted() == OperatorTable.all.map(\.name).sorted())
    }
}
