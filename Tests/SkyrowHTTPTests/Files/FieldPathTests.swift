import NIOHTTP1
import SkyrowActions
import SkyrowModel
import Testing

@testable import SkyrowHTTP

/// The path and the precondition of a file in a field of a record.
@Suite struct FieldPathTests {
    @Test(
        arguments: [
            ("records/note/9/photo", nil, "note", "9", "photo", .everyone),
            ("records/note/9/photo", "_private", "note", "9", "photo", .own),
            ("records/note/a%2Fb%20c/photo", "", "note", "a/b c", "photo", .everyone),
            // Decoded once, and a plus is a plus.
            ("records/note/a%252Fb+c/photo", nil, "note", "a%2Fb+c", "photo", .everyone),
            ("records/%6Eote/K%C3%A4tzchen/ph%6Fto", "ann", "note", "K\u{e4}tzchen", "photo", .user("ann")),
            ("records/note/../photo", nil, "note", "..", "photo", .everyone),
        ] as [(String, String?, String, String, String, DatabaseName)]
    )
    func aPathNamesAField(
        path: String,
        database: String?,
        type: String,
        id: String,
        field: String,
        name: DatabaseName
    ) throws {
        let found = try FieldPath(path[...])?.field(in: database)
        let record = try RecordID(type: RecordTypeName(type), id: id)
        let expected = try FileField(FieldName(field), of: record, in: name)
        #expect(found == expected)
    }

    @Test(arguments: [
        ("records/", 110), ("records/note", 110), ("records/note/9", 110), ("records/note/9/photo/", 110),
        ("records/note/a/b/photo", 110), ("records//9/photo", 108), ("records/note//photo", 108),
        ("records/note/9/", 108), ("records/note/9/a%2Fb", 108), ("records/no%2Fte/9/photo", 108),
        ("records/note/%zz/photo", 108), ("records/note/%FF/photo", 108), ("records/note/a%00/photo", 108),
        ("records/note/~ann%2F9/photo", 108), ("records/note/$1/photo", 108), ("records/_asset/9/name", 108),
        ("records/_role/9/photo", 111), ("records/no\"te/9/photo", 108), ("records/note/9/_owner", 108),
    ])
    func anythingElseNamesNone(path: String, code: Int) throws {
        let fieldPath = try #require(FieldPath(path[...]))
        #expect {
            _ = try fieldPath.field(in: nil)
        } throws: { error in
            (error as? SkyrowError)?.code.rawValue == code
        }
        #expect(throws: SkyrowError.self) { try FieldPath("records/note/9/photo")?.field(in: "_other") }
    }

    @Test(arguments: ["", "records", "record/note/9/photo", "recordsx", "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-a.png"])
    func otherPathsAreNotOfFields(path: String) {
        let isNone = FieldPath(path[...]) == nil
        #expect(isNone)
    }

    @Test(
        arguments: [
            ([], .exists), (["*"], .exists), ([" * "], .exists), (["\"12\""], .revision(12)),
            ([" \"007\" "], .revision(7)),
            ([""], nil), (["12"], nil), (["\"\""], nil), (["\"x\""], nil), (["W/\"12\""], nil), (["\"-1\""], nil),
            (["\"12\", \"13\""], nil), (["\"12\"", "\"13\""], nil), (["*", "*"], nil),
            (["\"99999999999999999999\""], nil), (["\"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef\""], nil),
        ] as [([String], SavePrecondition?)]
    )
    func theRevisionOfTheRecordIsExpected(values: [String], expected: SavePrecondition?) {
        let headers = HTTPHeaders(values.map { ("If-Match", $0) })
        #expect((try? SavePrecondition(headers)) == expected)
    }
}
