import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowSystem

@Suite struct ImportPlanTests {
    /// Reads a whole text and makes the plan.
    static func plan(
        _ text: String,
        _ reading: ImportReading = ImportReading(format: .csv),
        existing: [(String, FieldType)] = [],
        idColumn: String? = nil
    ) throws -> (plan: ImportPlan, survey: ImportSurvey, records: [Result<SourceRecord, LineFault>]) {
        var reader = SourceReader(reading)
        let records = reader.take(Array(text.utf8)) + reader.take([])
        var survey = ImportSurvey()
        survey.observe(records, columns: reader.columns)
        var fields: [FieldName: FieldType] = [:]
        for (name, type) in existing { fields[try FieldName(name)] = type }
        let plan = try ImportPlan(
            type: try RecordTypeName("film"),
            survey: survey,
            known: ImportPlan.KnownFields(existing: fields),
            idColumn: idColumn
        )
        return (plan, survey, records)
    }

    static func targets(_ plan: ImportPlan) -> [String] {
        plan.columns.map { column in
            switch column.target {
            case .id: "_id"
            case .reserved(let column): column.rawValue
            case .field(let name, let type, let isNew): "\(name) \(type.name)\(isNew ? " new" : "")"
            case .leftOut: "-"
            }
        }
    }

    /// A header of one column that holds another delimiter would import records without fields.
    @Test(
        arguments: [
            ("a.csv", nil, ["_id;title;year"], "--delimiter ';'"), ("a.csv", nil, ["_id\ttitle"], "--delimiter tab"),
            ("a.csv", nil, ["a|b"], "--delimiter '|'"), ("a.tsv", nil, ["_id,title"], "--delimiter ','"),
            ("a.csv", ",", ["a;b"], nil), ("a.csv", ";", ["a,b"], nil), ("a.csv", nil, ["title"], nil),
            ("a.csv", nil, ["a;b", "c"], nil), ("a.json", nil, ["a;b"], nil),
        ] as [(String, String?, [String], String?)]
    )
    func aFileWithAnotherDelimiterIsRefused(path: String, delimiter: String?, columns: [String], words: String?) throws
    {
        let settings = try ImportSettings(
            path: path,
            type: "film",
            format: nil,
            delimiter: delimiter,
            nullTexts: [],
            idColumn: nil
        )
        let survey = ImportSurvey(columns: columns)
        guard let words else { return try settings.check(survey) }
        let error = #expect(throws: ToolError.self) { try settings.check(survey) }
        #expect(error?.description.contains(words) == true)
        #expect(error?.status == .usage)
    }

    @Test(arguments: [
        ("title", "title"), ("Release Year", "Release_Year"), ("_secret", "secret"), ("2019 total", "field_2019_total"),
        ("Länge (m)", "L_nge_m"), ("a__b", "a__b"), ("a - b", "a_b"), ("  x  ", "x"), ("日本", nil), ("", nil),
        ("__", nil),
        (String(repeating: "a", count: 70), String(repeating: "a", count: 63)),
    ])
    func aHeaderBecomesAName(header: String, name: String?) {
        #expect(fieldName(from: header)?.rawValue == name)
    }

    @Test func columnsGetTheirTypesFromTheirValues() throws {
        let (plan, survey, _) = try Self.plan(
            "Title,year,rating,seen,empty,_owner\nAlien,1979,8.5,true,,x\nBrazil,1985,,false,,\n"
        )
        #expect(
            Self.targets(plan) == [
                "Title string new", "year integer new", "rating number new", "seen boolean new", "-", "-",
            ]
        )
        #expect(survey.recordCount == 2)
        #expect(plan.newFields.count == 4)
    }

    @Test func existingColumnsKeepTheirTypes() throws {
        let (plan, _, records) = try Self.plan(
            "title,year,director\n1941,1979,ridley\n",
            existing: [("title", .string), ("year", .number), ("director", .reference(try RecordTypeName("person")))]
        )
        #expect(Self.targets(plan) == ["title string", "year number", "director ref(person)"])
        #expect(plan.newFields.isEmpty)
        let row = try plan.row(from: try #require(records.first).get())
        #expect(
            row.values == [
                .string("1941"), .number(1979), .reference(try RecordID("person/ridley")),
            ]
        )
    }

    @Test func emptyIsNoValueAndQuotedEmptyIsEmptyText() throws {
        let (plan, _, records) = try Self.plan(
            "a,b\n\"\",1\n,\"\"\nNA,2\n\"NA\",3\n",
            ImportReading(format: .csv, nullTexts: ["NA"])
        )
        let values = try records.map { try plan.row(from: $0.get()).values }
        #expect(
            values == [[.string(""), .integer(1)], [nil, nil], [nil, .integer(2)], [.string("NA"), .integer(3)]]
        )
    }

    @Test func anIDComesFromItsColumn() throws {
        let (plan, _, records) = try Self.plan("code,title\n7,Alien\nfilm/8,Brazil\n~9,x\n", idColumn: "code")
        #expect(Self.targets(plan) == ["_id", "title string new"])
        #expect(try plan.row(from: records[0].get()).id == "7")
        #expect(try plan.row(from: records[1].get()).id == "8")
        let fault = #expect(throws: LineFault.self) { try plan.row(from: records[2].get()) }
        #expect(fault?.line == 4)
        #expect(fault?.reason.hasPrefix("code is not an id") == true)
    }

    @Test(arguments: [
        ("a b,a-b\n1,2\n", nil, "both become the field a_b"),
        ("a,a\n1,2\n", nil, "both become the field a"),
        ("a,日本\n1,2\n", nil, "rename it"),
        ("a,b\n1,2\n", "c", "no column 'c'"),
    ])
    func aFileThatCannotBeMappedIsRefused(text: String, idColumn: String?, words: String) {
        let error = #expect(throws: ToolError.self) { try Self.plan(text, idColumn: idColumn) }
        #expect(error?.description.contains(words) == true)
    }

    @Test func aValueThatDoesNotFitNamesItsLineAndColumn() throws {
        let (plan, survey, records) = try Self.plan(
            "title,year\nAlien,1979\n\"Bra\nzil\",soon\nToo,many,fields\n",
            existing: [("year", .integer)]
        )
        let fault = #expect(throws: LineFault.self) { try plan.row(from: records[1].get()) }
        #expect(fault?.description == "line 3: year is not a 64-bit integer")
        #expect(survey.faults.map(\.description) == ["line 5: fields: 3, columns in the header: 2"])
    }

    @Test func recordsOfJSONKeepTheirTypes() throws {
        let text = """
            {"_id": "film/1", "title": "Alien", "year": 1979, "at": {"$type":"date","$date":"1979-05-25T00:00:00Z"}}
            {"title": "Brazil", "year": 1985.5, "cast": ["a"], "_access": null, "note": null}
            {"title": 5}
            {"title"
            [1]
            """
        let (plan, survey, records) = try Self.plan(text, ImportReading(format: .ndjson))
        #expect(Set(plan.columns.map(\.source)) == ["_id", "title", "year", "at", "cast", "_access", "note"])
        #expect(survey.faults.map(\.line) == [4, 5])
        let first = try plan.row(from: records[0].get())
        #expect(first.id == "1")
        #expect(first.values[try #require(plan.fields.firstIndex { $0.rawValue == "year" })] == .number(1979))
        let fault = #expect(throws: LineFault.self) { try plan.row(from: records[2].get()) }
        #expect(fault?.description == "line 3: title does not have the field's type, string")
    }
}
