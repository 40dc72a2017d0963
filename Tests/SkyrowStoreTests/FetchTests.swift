import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct FetchTests {
    @Test func answersComeInTheOrderOfTheRequest() async throws {
        try await withRecords { f in
            try await f.save([draft("note/1"), draft("note/2"), draft("category/1")])
            let ids = ["note/2", "category/1", "note/404", "nothing/1", "note/1", "note/2"].map(id)
            let outcomes = try await f.store.fetch(ids, in: .everyone, caller: .anonymous)
            #expect(outcomes.map { $0.error?.code } == [nil, nil, .resourceNotFound, .resourceNotFound, nil, nil])
            for (id, outcome) in zip(ids, outcomes) where outcome.error == nil { #expect(try outcome.record.id == id) }
            let none = try await f.store.fetch([], in: .everyone, caller: .anonymous)
            #expect(none.isEmpty)
        }
    }

    @Test func anUnreadableRecordIsAsOneThatIsMissing() async throws {
        try await withRecords { f in
            try await f.save("note/1", [:], access: AccessList([]))
            try await f.save("note/2", [:], .ann, in: .user("ann"))
            for ids in [["note/1"], ["note/2"], ["note/404"], ["note/1", "note/2", "note/404"]] {
                let outcomes = try await f.store.fetch(ids.map(id), in: .everyone, caller: .bob)
                #expect(outcomes.allSatisfy { $0.error == .recordNotFound })
                for (id, outcome) in zip(ids, outcomes) {
                    guard case .failure(_, let reported) = outcome else { continue }
                    #expect(reported == id)
                }
            }
            #expect(try await f.fetch("note/1", .ann) != nil)
            #expect(try await f.fetch("note/1", .master) != nil)
            #expect(try await f.fetch("note/2", .ann) == nil)
            #expect(try await f.fetch("note/2", .ann, in: .user("ann")) != nil)
            #expect(try await f.fetch("note/2", .bob, in: .user("ann")) == nil)
        }
    }

    @Test func aRowWrittenInPsqlIsARecordForEveryone() async throws {
        try await withRecords { f in
            let id = try await f.psql("INSERT INTO note (title) VALUES ('x') RETURNING _id")
            let record = try #require(try await f.fetch("note/\(id)", .anonymous))
            #expect(record.fields[field("title")] == .string("x"))
            #expect(record.owner == nil)
            #expect(record.createdAt != nil)
        }
    }

    @Test func theUnionShowsWireIDsOfEveryDatabase() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("private")], .ann, in: .user("ann"))
            #expect(try await f.fetch("note/1", .master, in: .union)?.fields[field("title")] == .string("private"))
            try await f.save("note/1", ["title": .string("public")])
            #expect(try await f.fetch("note/1", .master, in: .union)?.fields[field("title")] == .string("public"))
        }
    }

    @Test func aColumnAddedInPsqlIsReadAndAnUnknownTypeIsNamed() async throws {
        try await withRecords { f in
            try await f.psql("INSERT INTO note (_id, price) VALUES ('1', 3)")
            try await f.store.cache.reload()
            let outcome = try await f.store.fetch([id("note/1")], in: .everyone, caller: .ann)[0]
            guard case .record(let source) = outcome else {
                Issue.record("There is no record.")
                return
            }
            var names = MemberNames()
            source.emit(into: &names)
            #expect(names.names == ["_id", "_access", "_created_at", "_updated_at", "_revision", "price", "serial"])
            #expect(names.unknown == ["money"])
        }
    }

    @Test func aColumnDroppedMeanwhileIsNoticed() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("x"), "stars": .integer(1)])
            try await f.psql("ALTER TABLE note DROP COLUMN title")
            #expect(try await f.fetch("note/1")?.fields[field("stars")] == .integer(1))
        }
    }

    @Test func aColumnWidenedMeanwhileIsReadAsWhatItIs() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["stars": .integer(3)])
            try await f.psql("ALTER TABLE note ALTER stars TYPE double precision; UPDATE note SET stars = 2.5")
            #expect(try await f.fetch("note/1")?.fields[field("stars")] == .number(2.5))
            #expect(try await f.save("note/1", ["stars": .integer(4)]).fields[field("stars")] == .number(4))
        }
    }

    @Test func idsOfAnyCharacterAreFound() async throws {
        try await withRecords { f in
            let ids = [
                "a/b", "'; DROP TABLE note; --", "\u{E9}", "e\u{301}", "%_\\", "\u{1F95B}", "$x y", "\"", "a\nb",
            ]
            let drafts = try ids.filter { !$0.hasPrefix("$") }.map {
                RecordDraft(id: try RecordID(type: type("note"), id: $0))
            }
            try await f.save(drafts)
            try await f.save(drafts, .ann, in: .user("ann"))
            for draft in drafts {
                for scope in [DatabaseScope.everyone, .user("ann")] {
                    #expect(try await f.fetch(draft.id.description, .ann, in: scope)?.id == draft.id)
                }
            }
            let all = try await f.store.fetch(drafts.map(\.id), in: .user("ann"), caller: .ann)
            #expect(try all.map { try $0.record.id } == drafts.map(\.id))
        }
    }
}

/// A sink that keeps what members were told.
private struct MemberNames: RecordSink {
    var names: [String] = []
    var unknown: [String] = []

    mutating func beginRecord() {}
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        names.append(key.name)
        if case .unknown(let type) = value { unknown.append(String(decoding: type, as: UTF8.self)) }
    }
    mutating func endRecord() {}
}
