import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// What a file asks for of which database, without a server.
@Suite struct SchemaDifferenceTests {
    /// `note` (title, stars, done, category, price in money), `category` (name), `user`, and a view `report`.
    private static let inventory: SchemaInventory = {
        var note = table("note")
        note.fields[field("title")] = column("title", .string, .text, "text")
        note.fields[field("stars")] = column("stars", .integer, .int8, "bigint", defaultValue: "'3'::bigint")
        note.fields[field("done")] = column("done", .boolean, .bool, "boolean", defaultValue: "(1 > 2)")
        note.fields[field("category")] = column("category", .reference(type("category")), .text, "text")
        note.fields[field("price")] = column("price", .unknown("money"), PostgresOID(rawValue: 790), "money")
        note.foreignKeys = [InventoryForeignKey(name: "note_category_fkey", field: field("category"))]
        note.indexes += [
            InventoryIndex(
                name: "note_category_idx",
                described: nil,
                columns: ["category"],
                condition: "(category IS NOT NULL)"
            ),
            index("note_title_idx", DocumentedIndex([.init("title")])),
            index("note_lower_idx", nil, columns: [nil]),
        ]
        var category = table("category")
        category.fields[field("name")] = column("name", .string, .text, "text")
        var user = table("user")
        user.comment = "The profiles of accounts."
        for name in ["username", "email"] { user.fields[field(name)] = column(name, .string, .text, "text") }
        user.indexes.append(index("_login_key_username", nil, columns: [nil]))
        return SchemaInventory(
            tables: [type("note"): note, type("category"): category, .user: user],
            otherNames: ["report"]
        )
    }()

    private static func table(_ name: String) -> InventoryTable {
        var table = InventoryTable(comment: type(name).tableComment)
        for column in ReservedColumn.allCases {
            table.reserved[column] = InventoryColumn(isNotNull: column.isNotNull, defaultValue: column.defaultValue)
        }
        table.indexes = [
            InventoryIndex(name: "\(name)_pkey", described: nil, columns: ["_id"], isPrimary: true),
            InventoryIndex(name: "\(name)_1", described: nil, columns: ["_database", "_created_at"]),
            InventoryIndex(
                name: "\(name)_2",
                described: nil,
                columns: ["_owner", "_created_at"],
                condition: "(_owner IS NOT NULL)"
            ),
        ]
        table.triggers = [
            "_stamp", "_tombstone_deleted", "_tombstone_truncated", "_tombstone_renamed", "_conceal",
            "_note_relation_entry",
        ].map { InventoryTrigger(name: $0, function: $0) }
        table.checks = ["_id_fits", "_database_fits", "_access_fits"].map { InventoryCheck(name: $0) }
        return table
    }

    private static func column(
        _ name: String,
        _ type: FieldType,
        _ oid: PostgresOID,
        _ sqlType: String,
        defaultValue: String? = nil
    ) -> InventoryField {
        InventoryField(
            column: RecordColumn(field: field(name), identifier: try! SQLIdentifier(name), type: type, oid: oid),
            sqlType: sqlType,
            details: InventoryColumn(defaultValue: defaultValue, comment: type.column.comment)
        )
    }

    private static func index(_ name: String, _ described: DocumentedIndex?, columns: [String?]? = nil)
        -> InventoryIndex
    {
        InventoryIndex(name: name, described: described, columns: columns ?? described?.columns.map(\.name) ?? [])
    }

    /// The file of that database, after a change of it.
    private func document(_ change: (inout SchemaDocument) -> Void = { _ in }) -> SchemaDocument {
        var document = Self.inventory.document
        document.acceptedDrift = ["note.price:unsupported-type"]
        change(&document)
        return document
    }

    private func changes(_ change: (inout SchemaDocument) -> Void) -> [SchemaFileChange] {
        let difference = SchemaDifference(document(change), Self.inventory)
        #expect(difference.refusals == [])
        return difference.changes.map(\.change)
    }

    private func refusals(_ change: (inout SchemaDocument) -> Void) -> [String] {
        SchemaDifference(document(change), Self.inventory).refusals
    }

    @Test func aDatabaseIsAsItsOwnFileSays() {
        #expect(SchemaDifference(document(), Self.inventory).isEmpty)
        let difference = SchemaDifference(document { $0.acceptedDrift = [] }, Self.inventory)
        #expect(difference.drift == [SchemaDrift("note", .unsupportedType("money"), of: field("price"))])
        #expect(!difference.isEmpty && difference.plan(repairing: true).isEmpty)
    }

    @Test func aFileSaysOfADatabaseWhatItCan() throws {
        let note = try #require(Self.inventory.document.types[type("note")])
        #expect(note.comment == nil)
        #expect(note.fields[field("stars")]?.defaultValue == .integer(3))
        // An expression is left alone.
        #expect(note.fields[field("done")]?.defaultValue == nil)
        #expect(note.fields[field("price")]?.type == .unknown("money"))
        #expect(note.indexes == [DocumentedIndex([.init("title")])])
        #expect(Self.inventory.document.types[.user]?.comment == nil)
    }

    // MARK: What is added

    @Test func newTypesAndFieldsAndWhatBelongsToThem() {
        let made = changes { document in
            document.types[type("memo")] = DocumentedType(
                comment: "Memos.",
                fields: [
                    field("about"): DocumentedField(.reference(type("note"))),
                    field("size"): DocumentedField(.integer, defaultValue: .integer(0), comment: "Bytes."),
                ],
                indexes: [DocumentedIndex([.init("size", isDescending: true)])]
            )
            document.types[type("note")]?.fields[field("memo")] = DocumentedField(.reference(type("memo")))
        }
        #expect(
            made == [
                .common(.createType(type("memo"))),
                .common(.addField(field("about"), .reference(type("note")), to: type("memo"))),
                .common(.addField(field("size"), .integer, to: type("memo"))),
                .common(.addField(field("memo"), .reference(type("memo")), to: type("note"))),
                .setDefault(.integer(0), field("size"), of: type("memo")),
                .createIndex(DocumentedIndex([.init("size", isDescending: true)]), of: type("memo")),
                .setComment("Memos.", nil, of: type("memo")),
                .setComment("Bytes.", field("size"), of: type("memo")),
            ]
        )
    }

    @Test func aFileThatDoesNotSpeakOfAccountsLeavesThemAlone() {
        #expect(changes { $0.types[.user] = nil } == [])
        #expect(changes { $0.types[.user]?.fields = [:] } == [])
    }

    // MARK: What is changed

    @Test func renamesComeFirstAndTakeTheirFieldsIndexesAndCommentsAlong() {
        let made = changes { document in
            document.types[type("kind")] = DocumentedType(
                renamedFrom: type("category"),
                fields: document.types[type("category")]?.fields ?? [:]
            )
            document.types[type("category")] = nil
            document.types[type("note")]?.fields[field("category")] = nil
            document.types[type("note")]?.fields[field("kind")] = DocumentedField(
                .reference(type("kind")),
                renamedFrom: field("category")
            )
            document.types[type("note")]?.fields[field("title")] = nil
            document.types[type("note")]?.fields[field("heading")] = DocumentedField(
                .string,
                renamedFrom: field("title")
            )
            document.types[type("note")]?.indexes = [DocumentedIndex([.init("heading")])]
        }
        #expect(
            made == [
                .renameType(type("category"), to: type("kind")),
                .common(.renameField(field("title"), to: field("heading"), of: type("note"))),
                .common(.renameField(field("category"), to: field("kind"), of: type("note"))),
                .setComment("Records of the type kind.", nil, of: type("kind")),
                .setComment("The _id of a kind.", field("kind"), of: type("note")),
            ]
        )
    }

    @Test func aRenameThatWasMadeIsNotMadeAgain() {
        #expect(changes { $0.types[type("note")]?.renamedFrom = type("old") } == [])
        #expect(changes { $0.types[type("note")]?.fields[field("title")]?.renamedFrom = field("old") } == [])
    }

    @Test func defaultsCommentsAndIndexesAreAsTheFileSays() {
        let made = changes { document in
            document.types[type("note")]?.fields[field("stars")]?.defaultValue = nil
            document.types[type("note")]?.fields[field("title")]?.defaultValue = .string("it's")
            document.types[type("note")]?.fields[field("title")]?.comment = "A heading."
            document.types[type("note")]?.comment = "Notes."
            document.types[type("note")]?.indexes = [DocumentedIndex([.init("title")], isUnique: true)]
        }
        #expect(
            made == [
                .deleteIndex(Self.index("note_title_idx", DocumentedIndex([.init("title")])), of: type("note")),
                .setDefault(nil, field("stars"), of: type("note")),
                .setDefault(.string("it's"), field("title"), of: type("note")),
                .createIndex(DocumentedIndex([.init("title")], isUnique: true), of: type("note")),
                .setComment("Notes.", nil, of: type("note")),
                .setComment("A heading.", field("title"), of: type("note")),
            ]
        )
    }

    // MARK: Other types

    enum Fate: Sendable, Equatable {
        case same
        case safe
        case narrowing
        case refused
    }

    @Test(arguments: [
        (FieldType.integer, FieldType.integer, Fate.same), (.integer, .number, .narrowing),
        (.number, .integer, .narrowing),
        (.sequence, .integer, .safe), (.integer, .sequence, .refused), (.integer, .string, .safe),
        (.number, .string, .safe), (.boolean, .string, .safe), (.json, .string, .safe), (.datetime, .string, .refused),
        (.bytes, .string, .refused), (.string, .integer, .narrowing), (.string, .number, .narrowing),
        (.string, .boolean, .narrowing), (.string, .datetime, .refused), (.string, .json, .refused),
        (.string, .reference(type("category")), .narrowing), (.reference(type("category")), .string, .safe),
        (.reference(type("category")), .reference(type("note")), .narrowing), (.boolean, .integer, .refused),
        (.unknown("uuid"), .string, .safe), (.unknown("numeric"), .number, .refused), (.number, .boolean, .refused),
    ])
    func aFieldBecomesOneOfAnotherType(_ from: FieldType, _ to: FieldType, _ fate: Fate) throws {
        var inventory = Self.inventory
        inventory.tables[type("note")]?.fields[field("x")] = Self.column("x", from, .text, "text")
        var document = document()
        document.types[type("note")]?.fields[field("x")] = DocumentedField(to)
        let difference = SchemaDifference(document, inventory)
        let conversions = difference.changes.filter { $0.change.kind == "convert_field" }
        switch fate {
        case .same:
            #expect(difference.changes.isEmpty && difference.refusals.isEmpty)
        case .refused:
            #expect(conversions.isEmpty && difference.refusals.count == 1)
            #expect(difference.refusals.first?.contains("note.x has the type \(from.name)") == true)
        case .safe:
            #expect(conversions.count == 1 && !difference.losesSomething && difference.refusals.isEmpty)
        case .narrowing:
            #expect(conversions.count == 1 && difference.losesSomething && difference.refusals.isEmpty)
        }
    }

    @Test func aReferenceThatIsNoneAnyMoreLosesKeyAndIndex() throws {
        let made = changes { $0.types[type("note")]?.fields[field("category")] = DocumentedField(.string) }
        var conversion = try #require(FieldConversion(from: .reference(type("category")), to: .string))
        conversion.foreignKeys = ["note_category_fkey"]
        conversion.indexes = ["note_category_idx"]
        #expect(
            made == [
                .convertField(field("category"), conversion, of: type("note")),
                .setComment("A text.", field("category"), of: type("note")),
            ]
        )
    }

    // MARK: What is lost

    @Test func typesAndFieldsThatTheFileDoesNotHaveAreDeletedLast() {
        let difference = SchemaDifference(
            document { document in
                document.types[type("category")] = nil
                document.types[type("note")]?.fields[field("category")] = nil
                document.types[type("note")]?.fields[field("title")] = nil
                document.types[type("note")]?.indexes = []
                document.types[type("note")]?.fields[field("fresh")] = DocumentedField(.string)
            },
            Self.inventory
        )
        #expect(
            difference.changes == [
                .init(change: .common(.addField(field("fresh"), .string, to: type("note"))), loss: nil),
                .init(
                    change: .common(.deleteField(field("category"), of: type("note"))),
                    loss: .values(field("category"), type("note"))
                ),
                .init(
                    change: .common(.deleteField(field("title"), of: type("note"))),
                    loss: .values(field("title"), type("note"))
                ),
                .init(change: .deleteType(type("category")), loss: .records(type("category"))),
            ]
        )
        #expect(difference.losesSomething && difference.refusals.isEmpty && difference.drift.isEmpty)
    }

    @Test func aRenamedFieldIsCountedUnderTheNameThatItHas() {
        let difference = SchemaDifference(
            document { document in
                document.types[type("memo")] = document.types[type("note")]
                document.types[type("memo")]?.renamedFrom = type("note")
                document.types[type("note")] = nil
                document.types[type("memo")]?.fields[field("price")] = nil
                document.types[type("memo")]?.fields[field("title")] = nil
                document.types[type("memo")]?.fields[field("count")] = DocumentedField(
                    .integer,
                    renamedFrom: field("title")
                )
                document.types[type("memo")]?.indexes = [DocumentedIndex([.init("count")])]
            },
            Self.inventory
        )
        let losses = difference.changes.compactMap(\.loss)
        #expect(losses.count == 2)
        #expect(losses.contains(.values(field("price"), type("note"))))
        #expect(
            losses.contains {
                if case .misfits(let name, _, let typeName) = $0 {
                    name == field("title") && typeName == type("note")
                } else {
                    false
                }
            }
        )
        // The drift of what goes, goes with it.
        #expect(difference.drift.isEmpty)
    }

    // MARK: What cannot be done

    @Test func whatCannotBeDoneIsRefusedWithItsReason() {
        #expect(
            refusals { $0.types[type("report")] = DocumentedType() }
                == ["The database has a relation named report that is not a record type; choose another name."]
        )
        #expect(
            refusals { $0.types[type("category")] = nil }
                == ["note.category refers to the type category, which is not in the file."]
        )
        #expect(
            refusals { $0.types[type("memo")] = DocumentedType(renamedFrom: type("note")) }
                == ["memo is renamed from note, which is also in the file: keep one of them."]
        )
        #expect(
            refusals {
                $0.types[type("note")]?.fields[field("a")] = DocumentedField(.string, renamedFrom: field("title"))
                $0.types[type("note")]?.fields[field("title")] = DocumentedField(.string)
            } == ["note.a is renamed from title, which is also in the file: keep one of them."]
        )
        #expect(
            refusals {
                for name in ["a", "b"] {
                    $0.types[type("note")]?.fields[field(name)] = DocumentedField(.string, renamedFrom: field("title"))
                }
                $0.types[type("note")]?.fields[field("title")] = nil
                $0.types[type("note")]?.indexes = []
            } == ["note.b and note.a are both renamed from title."]
        )
        #expect(
            refusals { $0.types[type("people")] = DocumentedType(renamedFrom: .user) }
                == ["The type user cannot be renamed: accounts use it."]
        )
        #expect(
            refusals { $0.types[.user]?.fields[field("username")] = DocumentedField(.integer) }
                == ["The field username of user must keep its type: accounts use it."]
        )
        #expect(
            refusals {
                $0.types[.user]?.fields[field("username")] = nil
                $0.types[.user]?.fields[field("login")] = DocumentedField(.string, renamedFrom: field("username"))
            } == ["The field username of user cannot be renamed: accounts use it."]
        )
        #expect(
            refusals { $0.types[type("note")]?.fields[field("xmin")] = DocumentedField(.string) }
                == ["note.xmin cannot be created: PostgreSQL reserves that name."]
        )
        #expect(
            refusals { $0.types[type("note")]?.fields[field("cost")] = DocumentedField(.unknown("money")) }
                == ["note.cost has the SQL type money, which can only be created in psql."]
        )
        #expect(
            refusals { $0.types[type("note")]?.fields[field("title")]?.isGenerated = true }
                == ["note.title is not computed by PostgreSQL: change it in psql."]
        )
        #expect(
            refusals { $0.types[type("note")]?.indexes.insert(DocumentedIndex([.init("nothing")])) }
                == ["The index (nothing) of note names nothing, which is not a field of the type."]
        )
    }
}

extension SchemaDifference {
    /// Whether there are changes that may cost data.
    fileprivate var losesSomething: Bool { changes.contains { $0.loss != nil } }
}
