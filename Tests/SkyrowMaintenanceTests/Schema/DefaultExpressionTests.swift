import SkyrowMaintenance
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// How PostgreSQL prints a column's default, and what a file says of it.
@Suite struct DefaultExpressionTests {
    private static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    /// What a file can say: the default that is set, the type of its column, and what PostgreSQL prints of it.
    static let sayable: [(value: RecordValue, type: FieldType, printed: String)] = [
        (.string(""), .string, "''::text"),
        (.string("it's"), .string, "'it''s'::text"),
        (.string(#"a\b"#), .string, #"'a\b'::text"#),
        (.string("1"), .string, "'1'::text"),
        (.string("x'::text"), .string, "'x''::text'::text"),
        (.integer(0), .integer, "'0'::bigint"),
        (.integer(-1), .integer, "'-1'::bigint"),
        (.integer(.min), .integer, "'-9223372036854775808'::bigint"),
        (.number(0.5), .number, "'0.5'::double precision"),
        (.number(-1e100), .number, "'-1e+100'::double precision"),
        (.boolean(true), .boolean, "true"),
        (.boolean(false), .boolean, "false"),
        (json("[]"), .json, "'[]'::jsonb"),
        (json("{}"), .json, "'{}'::jsonb"),
    ]

    @Test(arguments: sayable.indices)
    func aDefaultOfOursIsReadBack(_ index: Int) {
        let row = Self.sayable[index]
        #expect(RecordValue(defaultExpression: row.printed, type: row.type) == row.value)
    }

    /// As psql's own defaults are printed.
    @Test(arguments: [
        ("0", FieldType.integer, RecordValue.integer(0)), ("'-1'::integer", .integer, .integer(-1)),
        ("(5)::bigint", .integer, .integer(5)), ("1.5", .number, .number(1.5)),
        ("(0)::double precision", .number, .number(0)), ("'-1.5'::numeric", .number, .number(-1.5)),
        ("('x'::character varying)::text", .string, .string("x")), (#"E'a\\b'::text"#, .string, .string(#"a\b"#)),
    ])
    func aDefaultOfPsqlIsRead(_ printed: String, _ type: FieldType, _ value: RecordValue) {
        #expect(RecordValue(defaultExpression: printed, type: type) == value)
    }

    @Test(arguments: [
        ("now()", FieldType.datetime), ("'2020-01-01 00:00:00+00'::timestamp with time zone", .datetime),
        ("lower('X'::text)", .string), ("('a'::text || 'b'::text)", .string), ("(1 + 2)", .integer),
        ("nextval('s'::regclass)", .sequence), ("'[1]'::jsonb", .json), ("'9'::text", .reference(type("note"))),
        ("NULL::text", .string), ("'x'", .integer), ("'NaN'::double precision", .number), ("", .string),
        ("'x", .string),
    ])
    func whatAFileCannotSayIsNotRead(_ printed: String, _ type: FieldType) {
        #expect(RecordValue(defaultExpression: printed, type: type) == nil)
    }
}
