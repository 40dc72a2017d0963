import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

private func jsonOf(_ text: String) -> RecordValue {
    .json(JSONText(validated: Array(text.utf8)))
}

private func reference(_ text: String) -> RecordValue {
    .reference(id(text))
}

/// Arrays of the types that the schema gives them, in columns that are arrays of PostgreSQL.
@Suite(.timeLimit(.minutes(60))) struct ArrayTests {
    private static let types = [
        RecordType(name: type("tag")),
        RecordType(
            name: type("note"),
            fields: [
                field("texts"): .array(.string), field("integers"): .array(.integer), field("numbers"): .array(.number),
                field("flags"): .array(.boolean), field("tags"): .array(.reference(type("tag"))),
                field("others"): .array(.reference(type("note"))),
            ]
        ),
    ]

    private func withArrays(test: String = #function, _ body: (StoreFixture) async throws -> Void) async throws {
        try await withStore(test: test) { f in
            _ = try await f.store.createTypes(Self.types)
            try await body(f)
        }
    }

    private func save(
        _ f: StoreFixture,
        _ drafts: [RecordDraft],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [RecordOutcome] {
        try await f.store.save(drafts.map { .draft($0) }, in: scope, caller: caller, atomic: false)
    }

    private func value(_ f: StoreFixture, _ recordID: String, _ name: String, in scope: DatabaseScope = .everyone)
        async throws -> RecordValue?
    {
        try await f.store.fetch([id(recordID)], in: scope, caller: .ann)[0].record.fields[field(name)]
    }

    @Test func theColumnsAreArraysOfPostgreSQL() async throws {
        try await withArrays { f in
            let columns = try await f.psql(
                """
                SELECT attname, format_type(atttypid, atttypmod), coalesce(collname, ''), col_description(attrelid, attnum)
                FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation
                WHERE attrelid = 'note'::regclass AND attnum > 0 AND attname !~ '^_' ORDER BY attname
                """
            )
            #expect(
                columns == """
                    flags|boolean[]||An array of true and false.
                    integers|bigint[]||An array of integers.
                    numbers|double precision[]||An array of numbers.
                    others|text[]|C|An array of the _ids of records of the type note.
                    tags|text[]|C|An array of the _ids of records of the type tag.
                    texts|text[]|C|An array of texts.
                    """
            )
            try await f.store.cache.reload()
            #expect(f.store.cache.current[type("note")]?.recordType == Self.types[1])
        }
    }

    private static let values: [(String, String, [RecordValue], String)] = [
        ("texts", "[]", [], "{}"),
        (
            "texts", #"["a","b \"c\" \\","","NULL","{x,y}"," é "]"#,
            [.string("a"), .string("b \"c\" \\"), .string(""), .string("NULL"), .string("{x,y}"), .string(" é ")],
            #"{a,"b \"c\" \\","","NULL","{x,y}"," é "}"#
        ),
        (
            "integers", #"[1, -9223372036854775808, 9223372036854775807, 2.0, "-12"]"#,
            [.integer(1), .integer(.min), .integer(.max), .integer(2), .integer(-12)],
            "{1,-9223372036854775808,9223372036854775807,2,-12}"
        ),
        (
            "numbers", #"[0.1, 1, -0.0, 5e-324, 1.7976931348623157e308, "2.5"]"#,
            [
                .number(0.1), .number(1), .number(-0.0), .number(.leastNonzeroMagnitude),
                .number(.greatestFiniteMagnitude),
                .number(2.5),
            ],
            "{0.1,1,-0,5e-324,1.7976931348623157e+308,2.5}"
        ),
        ("flags", #"[true, false, "true"]"#, [.boolean(true), .boolean(false), .boolean(true)], "{t,f,t}"),
        (
            "tags", #"[{"$type":"ref","$id":"tag/a,b"}, "2", {"$type":"ref","$recordType":"tag","$recordID":"3"}]"#,
            [reference("tag/a,b"), reference("tag/2"), reference("tag/3")], #"{"a,b",2,3}"#
        ),
    ]

    @Test func elementsComeBackAsTheyWereSaved() async throws {
        try await withArrays { f in
            // One alone, then several in one statement, over new rows and old ones.
            for part in [Self.values[..<1], Self.values[...], Self.values[...]] {
                for (name, rows) in Dictionary(grouping: part, by: \.0) {
                    let drafts = rows.enumerated().map { draft("note/\(name)\($0)", [name: jsonOf($1.1)]) }
                    let saved = try await save(f, drafts).map { try $0.record }
                    for (place, row) in rows.enumerated() {
                        #expect(saved[place].fields[field(name)] == .array(row.2))
                        #expect(try await value(f, "note/\(name)\(place)", name) == .array(row.2))
                        #expect(try await f.psql("SELECT \(name) FROM note WHERE _id = '\(name)\(place)'") == row.3)
                    }
                }
            }
            // Another field is saved, and then the array is taken away.
            _ = try await save(f, [draft("note/flags0", ["texts": jsonOf("[]")])])
            #expect(try await value(f, "note/flags0", "flags") == .array(Self.values[4].2))
            _ = try await save(f, [draft("note/flags0", ["flags": .null])])
            #expect(try await value(f, "note/flags0", "flags") == nil)
        }
    }

    private static let misfits: [(String, RecordValue, String)] = [
        ("texts", "a", "records[0].texts"), ("tags", "1", "records[0].tags"),
        ("integers", "{1}", "records[0].integers"),
        ("texts", jsonOf("[null]"), "records[0].texts[0]"), ("texts", jsonOf(#"["a", 1]"#), "records[0].texts[1]"),
        ("texts", jsonOf(#"["a\u0000"]"#), "records[0].texts[0]"),
        ("texts", jsonOf(#"[["a"]]"#), "records[0].texts[0]"),
        ("texts", jsonOf(#"[{"$type":"ref","$id":"tag/1"}]"#), "records[0].texts[0]"),
        ("integers", jsonOf("[1, 1.5]"), "records[0].integers[1]"),
        ("integers", jsonOf(#"["1e1"]"#), "records[0].integers[0]"),
        ("integers", jsonOf(#"[1, 2, "12 "]"#), "records[0].integers[2]"),
        ("integers", jsonOf("[true]"), "records[0].integers[0]"),
        ("integers", jsonOf("[9223372036854775808]"), "records[0].integers[0]"),
        ("numbers", jsonOf("[9007199254740993]"), "records[0].numbers[0]"),
        ("numbers", jsonOf(#"["NaN"]"#), "records[0].numbers[0]"),
        ("flags", jsonOf("[1]"), "records[0].flags[0]"), ("flags", jsonOf(#"["yes"]"#), "records[0].flags[0]"),
        ("tags", jsonOf(#"[{"$type":"ref","$id":"note/1"}]"#), "records[0].tags[0]"),
        ("tags", jsonOf(#"["1", "~ann/1"]"#), "records[0].tags[1]"),
        ("tags", jsonOf(#"[{"a": 1}]"#), "records[0].tags[0]"),
        ("tags", jsonOf("[1]"), "records[0].tags[0]"),
        ("texts", jsonOf("[" + (0...10_000).map { _ in "\"\"" }.joined(separator: ",") + "]"), "records[0].texts"),
    ]

    @Test func whatIsNoElementIsNamedAndRefusedAlone() async throws {
        try await withArrays { f in
            for (name, value, path) in Self.misfits {
                let outcomes = try await save(f, [draft("note/1", [name: value]), draft("note/2")])
                #expect(outcomes[0].error?.code == .invalidArgument, "\(name) \(path)")
                #expect(outcomes[0].error?.path == path)
                #expect(outcomes[0].error?.info["arguments"] == .list([.string(name)]))
                #expect(outcomes[1].error == nil)
            }
            #expect(try await f.psql("SELECT string_agg(_id, ',') FROM note") == "2")
            // What is no array at all is of another type, as for any field.
            for other in [RecordValue.integer(1), .boolean(true), jsonOf("{}"), reference("tag/1")] {
                let drafts = [draft("note/1", ["texts": other])]
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.createMissingSchema(for: drafts)
                }
                #expect(error?.code == .incompatibleSchema)
            }
            let most = jsonOf("[" + (0..<10_000).map { "\"\($0)\"" }.joined(separator: ",") + "]")
            #expect(try await save(f, [draft("note/1", ["tags": most, "integers": most])])[0].error == nil)
            #expect(
                try await f.psql("SELECT cardinality(tags), integers[10000] FROM note WHERE _id = '1'") == "10000|9999"
            )
        }
    }

    @Test func onTheFlyAnArrayIsJSON() async throws {
        try await withArrays { f in
            let drafts = [draft("note/1", ["list": jsonOf("[1]"), "empty": jsonOf("[]")])]
            try await f.store.createMissingSchema(for: drafts)
            let fields = f.store.cache.current[type("note")]?.recordType.fields
            #expect(fields?[field("list")] == .json && fields?[field("empty")] == .json)
        }
    }

    @Test func whatPsqlWritesIsRead() async throws {
        try await withArrays { f in
            try await f.psql(
                """
                ALTER TABLE note ADD small smallint[], ADD middle integer[], ADD single real[], ADD named text[],
                    ADD short varchar(9)[], ADD days date[];
                INSERT INTO note (_owner, _id, texts, integers, numbers, tags, small, middle, single, named, short)
                VALUES ('ann', '1', '{a,NULL}', '[0:1]={1,NULL}', '{NaN,Infinity,NULL}', '{1,NULL}', '{1}', '{2}', '{0.5}', '{b}', '{c}'),
                    ('ann', '2', '{{a},{b}}', '{{1,2}}', '{}', '{{1}}', NULL, NULL, NULL, NULL, NULL)
                """
            )
            try await f.store.cache.reload()
            let types = f.store.cache.current[type("note")]?.recordType.fields
            #expect(types?[field("small")] == .array(.integer) && types?[field("middle")] == .array(.integer))
            #expect(types?[field("single")] == .array(.number) && types?[field("named")] == .array(.string))
            #expect(types?[field("short")] == .unknown("character varying[]"))
            #expect(types?[field("days")] == .unknown("date[]"))
            let record = try await f.store.fetch([id("note/1")], in: .everyone, caller: .ann)[0].record
            #expect(record.fields[field("texts")] == .array([.string("a"), .null]))
            #expect(record.fields[field("integers")] == .array([.integer(1), .null]))
            guard case .array(let numbers)? = record.fields[field("numbers")] else {
                Issue.record("\(record.fields)")
                return
            }
            guard case .number(let first) = numbers[0] else {
                Issue.record("\(numbers)")
                return
            }
            #expect(first.isNaN && numbers[1] == .number(.infinity) && numbers[2] == .null)
            #expect(record.fields[field("tags")] == .array([reference("tag/1"), .null]))
            #expect(record.fields[field("single")] == .array([.number(0.5)]))
            // A matrix is of an unknown type, which a client that saves back what it read leaves alone.
            let matrix = try await f.store.fetch([id("note/2")], in: .everyone, caller: .ann)[0].record
            #expect(matrix.fields == [field("numbers"): .array([])])
            // A narrow column takes what fits.
            let outcomes = try await save(
                f,
                [draft("note/1", ["small": jsonOf("[3]")]), draft("note/2", ["small": jsonOf("[40000]")])]
            )
            #expect(outcomes[0].error == nil)
            #expect(outcomes[1].error?.code == .invalidArgument)
            #expect(
                try await f.psql("SELECT string_agg(coalesce(small::text, '-'), ' ' ORDER BY _id) FROM note") == "{3} -"
            )
        }
    }

    @Test func arraysThatBeginElsewhereAreTheSameArrays() async throws {
        try await withArrays { f in
            try await f.psql(
                """
                ALTER TABLE note ADD small smallint[];
                INSERT INTO note (_owner, _id, texts, integers, small) VALUES ('ann', '0', '[0:1]={a,b}', '[0:1]={1,2}', '[5:6]={1,2}'),
                    ('ann', '1', '{a,b}', '{1,2}', '{1,2}'), ('ann', '2', '[0:1]={b,a}', '{2,1}', '[-1:0]={2,1}'),
                    ('ann', '3', '{{a,b}}', '{{1,2}}', '{{1,2}}'), ('ann', '4', NULL, NULL, NULL)
                """
            )
            try await f.store.cache.reload()
            for (name, list) in [("texts", #"["a","b"]"#), ("integers", "[1,2]"), ("small", "[1,2]")] {
                for (comparison, expected) in [(ComparisonOperator.eq, "0 1"), (.neq, "2 3")] {
                    let predicate = Predicate.comparison(comparison, .keyPath(path(name)), .value(jsonOf(list)))
                    var query = RecordQuery(type: type("note"), predicate: predicate)
                    query.sort = [SortKey(path("_id"))]
                    let found = try await f.store.query(query, in: .everyone, caller: .ann).records
                    #expect(
                        found.compactMap { $0.collected()?.id.id }.joined(separator: " ") == expected,
                        "\(name) \(comparison)"
                    )
                }
            }
            // What is sent back as it was read is no change, for one who may make none of the field.
            try await f.psql(
                """
                INSERT INTO _field_rule (type, field, action, allow) VALUES ('note', 'texts', 'update', '{}'), ('note', 'small', 'update', '{}')
                """
            )
            try await f.store.cache.reload()
            let outcome = try await save(
                f,
                [
                    draft(
                        "note/0",
                        ["texts": jsonOf(#"["a","b"]"#), "small": jsonOf("[1,2]"), "integers": jsonOf("[3]")]
                    )
                ]
            )[0]
            #expect(try outcome.record.fields[field("integers")] == .array([.integer(3)]))
            let change = try await save(f, [draft("note/0", ["texts": jsonOf(#"["b","a"]"#)])])[0]
            #expect(change.error?.code == .deniedArgument)
        }
    }

    // MARK: References

    @Test func inAPrivateDatabaseAnElementMeansTheUsersOwnRecordOrThePublicOne() async throws {
        try await withArrays { f in
            _ = try await save(f, [draft("tag/1"), draft("tag/2"), draft("tag/5")])
            _ = try await save(f, [draft("tag/1")], in: .user("ann"))
            _ = try await save(f, [draft("tag/3")], .bob, in: .user("bob"))
            let tags = jsonOf(#"["1","2","3",{"$type":"ref","$id":"tag/$new"},{"$type":"ref","$id":"tag/5"}]"#)
            let drafts = [
                draft("note/1", ["tags": tags]), draft("note/2", ["tags": tags]), draft("tag/$new"), draft("tag/5"),
            ]
            // One record in a statement, and several.
            let parts = [Array(drafts[1...]), drafts]
            for part in parts {
                let records = try await save(f, part, in: .user("ann")).map { try $0.record }
                let new = try #require(records.first { $0.id.type == type("tag") && $0.id.id != "5" }).id
                let stored = try await f.psql("SELECT tags FROM note WHERE _id = '~ann/2'")
                #expect(stored == "{~ann/1,2,3,~ann/\(new.id),~ann/5}")
                let expected = RecordValue.array([
                    reference("tag/1"), reference("tag/2"), reference("tag/3"), .reference(new), reference("tag/5"),
                ])
                #expect(records.first { $0.id.id == "2" }?.fields[field("tags")] == expected)
                #expect(try await value(f, "note/2", "tags", in: .user("ann")) == expected)
            }
            #expect(try await f.psql("SELECT tags[:3] FROM note WHERE _id = '~ann/1'") == "{~ann/1,2,3}")
        }
    }

    @Test func anElementThatLeadsNowhereOrToAHiddenRecordStays() async throws {
        try await withArrays { f in
            let hidden = RecordDraft(id: id("tag/hidden"), access: AccessList([]))
            _ = try await save(f, [hidden], .bob)
            _ = try await save(f, [draft("tag/open"), draft("tag/gone")])
            let tags = jsonOf(#"["hidden","open","gone","none"]"#)
            let expected = RecordValue.array(["hidden", "open", "gone", "none"].map { reference("tag/\($0)") })
            for scope in [DatabaseScope.everyone, .user("ann")] {
                // Which of them there are, and which are hidden, shows in nothing that is answered.
                #expect(
                    try await save(f, [draft("note/1", ["tags": tags])], in: scope)[0].record.fields[field("tags")]
                        == expected
                )
            }
            let deleted = try await f.store.delete([id("tag/gone")], in: .everyone, caller: .ann, atomic: false)
            #expect(deleted[0].isDeleted)
            #expect(try await value(f, "note/1", "tags") == expected)
            #expect(try await value(f, "note/1", "tags", in: .user("ann")) == expected)
            #expect(try await f.psql("SELECT DISTINCT tags FROM note") == "{hidden,open,gone,none}")
        }
    }

    @Test func temporaryIDsAreResolvedInElements() async throws {
        try await withArrays { f in
            let drafts = [
                draft("note/$a", ["others": jsonOf(#"[{"$type":"ref","$id":"note/$b"}, "$a"]"#)]), draft("note/$b"),
                draft("note/c", ["others": jsonOf(#"["$missing"]"#)]),
            ]
            let outcomes = try await save(f, drafts)
            let (a, b) = (try outcomes[0].record, try outcomes[1].record)
            #expect(a.fields[field("others")] == .array([.reference(b.id), .reference(a.id)]))
            #expect(outcomes[2].error?.code == .invalidArgument)
        }
    }

    @Test func theTypeThatElementsReferToFollowsItsTable() async throws {
        try await withArrays { f in
            func others() -> [FieldType?] {
                let note = f.store.cache.current[type("note")] ?? f.store.cache.current[type("Memo")]
                return ["tags", "others"].map { note?.recordType.fields[field($0)] }
            }
            #expect(others() == [.array(.reference(type("tag"))), .array(.reference(type("note")))])
            let failure = await #expect(throws: (any Error).self) { try await f.psql("DROP TABLE tag") }
            #expect(failure != nil)
            try await f.psql(#"ALTER TABLE tag RENAME TO "Label"; ALTER TABLE note RENAME TO "Memo""#)
            try await f.store.cache.reload()
            #expect(others() == [.array(.reference(type("Label"))), .array(.reference(type("Memo")))])
        }
    }

    @Test func aTypeThatIsNotThereCannotBeReferredTo() async throws {
        try await withArrays { f in
            let request = [
                RecordType(name: type("page"), fields: [field("tags"): .array(.reference(type("nothing")))])
            ]
            let error = await #expect(throws: SkyrowError.self) { try await f.store.createTypes(request) }
            #expect(error?.code == .incompatibleSchema)
        }
    }

    @Test func arraysAreComparedWithNull() async throws {
        try await withArrays { f in
            _ = try await save(f, [draft("note/1", ["texts": jsonOf("[]")]), draft("note/2")])
            func ids(_ query: RecordQuery) async throws -> [String] {
                try await f.store.query(query, in: .everyone, caller: .ann).records.compactMap { $0.collected()?.id.id }
            }
            #expect(try await ids(RecordQuery(type: type("note"), predicate: .compare(.eq, "texts", .null))) == ["2"])
            #expect(try await ids(RecordQuery(type: type("note"), predicate: .compare(.neq, "texts", .null))) == ["1"])
        }
    }
}
