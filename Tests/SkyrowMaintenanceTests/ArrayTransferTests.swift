import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

/// Arrays in files: exported and imported with every element, those that psql wrote too.
@Suite(.timeLimit(.minutes(60))) struct ArrayTransferTests {
    private static let rows = """
        INSERT INTO note (_id, _database, texts, integers, numbers, flags, tags, small) VALUES
            ('1', '_public', '{a,"b \\"c\\" \\\\, {x}","","NULL",NULL,"é\n"}', '{1,NULL,-9223372036854775808}',
                '{0.1,-0,5e-324,NaN,-Infinity,NULL}', '{t,f,NULL}', '{1,"a,b",NULL}', '{1,-32768}'),
            ('2', '_public', '{}', '{}', '{}', '{}', '{}', '{}'), ('3', '_public', NULL, NULL, NULL, NULL, NULL, NULL),
            ('~ann/1', 'ann', '{x}', NULL, NULL, NULL, '{~ann/1,1}', NULL)
        """
    private static let question = "SELECT _id, texts, integers, numbers, flags, tags, small FROM note ORDER BY _id"

    @Test(arguments: [FileFormat.csv, .json, .ndjson])
    func whatIsExportedIsImported(format: FileFormat) async throws {
        let types = [
            RecordType(name: type("tag")),
            RecordType(
                name: type("note"),
                fields: [
                    field("texts"): .array(.string), field("integers"): .array(.integer),
                    field("numbers"): .array(.number),
                    field("flags"): .array(.boolean), field("tags"): .array(.reference(type("tag"))),
                ]
            ),
        ]
        let rows = "ALTER TABLE note ADD small smallint[]; \(Self.rows)"
        let fields = try await transfer(types, as: format, rows: rows, question: Self.question)[type("note")]?.fields
        #expect(fields?[field("tags")] == .array(.reference(type("tag"))))
        #expect(fields?[field("small")] == .array(.integer))
    }

    private static let texts: [(String, [String?]?)] = [
        ("{}", []), ("{ }", []), ("{a}", ["a"]), ("{ a , b c }", ["a", "b c"]),
        ("{NULL,null,\"NULL\"}", [nil, nil, "NULL"]),
        (#"{"","a\"b\\c",d\,e}"#, ["", #"a"b\c"#, "d,e"]), ("{\"{x}\", \" y \"}", ["{x}", " y "]), ("{é}", ["é"]),
        ("", nil), ("a", nil), ("{a", nil), ("{a,}", nil), ("{,a}", nil), ("{{a},{b}}", nil), ("{a}b", nil),
        ("{\"a}", nil), ("{a\"b\"}", nil), ("{\"a\"b}", nil), ("[0:1]={a,b}", nil), ("[\"a\"]", nil),
    ]

    @Test(arguments: texts)
    func theTextOfAnArrayIsReadAsPostgreSQLReadsIt(text: String, elements: [String?]?) throws {
        guard let elements else {
            #expect(throws: FieldFault.self) { try CSVText.elements(text) }
            return
        }
        #expect(try CSVText.elements(text) == elements)
    }

    private static let cells: [(ElementType, SourceRecord.Cell, [RecordValue]?)] = [
        (.integer, .text(CSVField("{1,-2}")), [.integer(1), .integer(-2)]),
        (.integer, .text(CSVField("{1,x}")), nil),
        (.boolean, .text(CSVField("{t,false}")), [.boolean(true), .boolean(false)]),
        (
            .reference(type("tag")), .text(CSVField("{1,tag/2}", isQuoted: true)),
            [.reference(id("tag/1")), .reference(id("tag/2"))]
        ),
        (.reference(type("tag")), .text(CSVField("{~ann/1}", isQuoted: true)), nil),
        (.number, .value(.json(JSONText(validated: Array(#"[1, 0.5, "x"]"#.utf8)))), nil),
        (.number, .value(.json(JSONText(validated: Array(#"[1, 0.5]"#.utf8)))), [.number(1), .number(0.5)]),
        (.string, .value(.json(JSONText(validated: Array(#"["a", null]"#.utf8)))), [.string("a"), .null]),
        (.string, .value(.json(JSONText(validated: Array(#"[1]"#.utf8)))), nil),
        (.string, .value(.json(JSONText(validated: Array(#"{}"#.utf8)))), nil), (.string, .value(.string("a")), nil),
    ]

    @Test(arguments: cells.indices)
    func anArrayOfAFileHasTheElementsOfItsField(place: Int) throws {
        let (element, cell, expected) = Self.cells[place]
        guard let expected else {
            #expect(throws: FieldFault.self) { try FieldType.array(element).value(of: cell) }
            return
        }
        #expect(try FieldType.array(element).value(of: cell) == .array(expected))
    }
}
