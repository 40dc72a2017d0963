import SkyrowModel
import SkyrowStore
import SkyrowTestSupport

@testable import SkyrowPostgres

extension SchemaCatalog {
    /// A note of every type of field, which refers to a category and to another note.
    static let notes = SchemaCatalog(
        schema: "app",
        version: 1,
        tables: [
            table(
                "note",
                [
                    ("title", .string, .text), ("stars", .integer, .int8), ("score", .number, .float8),
                    ("done", .boolean, .bool), ("due", .datetime, .timestamptz), ("tags", .json, .jsonb),
                    ("category", .reference(type("category")), .text), ("next", .reference(type("note")), .text),
                    ("serial", .sequence, .int8), ("data", .bytes, .bytea), ("price", .unknown("money"), .money),
                    ("photo", .asset, .text),
                    ("labels", .array(.string), .textArray), ("shorts", .array(.integer), .int2Array),
                    ("categories", .array(.reference(type("category"))), .textArray),
                ]
            ),
            table("category", [("name", .string, .text), ("rank", .integer, .int8)]),
            table("user", [("username", .string, .text)], rules: .ofProfiles(loginKeys: [field("username")])),
        ]
    )

    static func table(
        _ name: String,
        _ columns: [(String, FieldType, PostgresOID)],
        languages: [String: TextLanguage] = [:],
        indexes: [TableIndex] = [],
        rules: TypeRules = .none
    ) -> RecordTable {
        RecordTable(
            name: type(name),
            schema: "app",
            identifier: identifier(name),
            columns: columns.map { name, type, oid in
                RecordColumn(
                    field: field(name),
                    identifier: identifier(name),
                    type: type,
                    oid: oid,
                    textLanguage: languages[name] ?? .words
                )
            },
            indexes: indexes,
            rules: rules
        )
    }

    var note: RecordTable { self[type("note")]! }
}

extension PostgresOID {
    static let money = PostgresOID(rawValue: 790)
}

func identifier(_ name: String) -> SQLIdentifier { try! SQLIdentifier(name) }
func path(_ text: String) -> KeyPath { try! KeyPath(text) }

/// The values of a statement in a form that two statements can be compared in.
struct BoundValues: Equatable {
    let bytes: [UInt8]
    let types: [UInt32]

    init(_ bindings: PostgresBindings) {
        bytes = bindings.encoder.bytes
        types = bindings.values.map(\.type.rawValue)
    }

    init(_ append: (inout PostgresBindings) -> Void) {
        var bindings = PostgresBindings()
        append(&bindings)
        self.init(bindings)
    }
}
