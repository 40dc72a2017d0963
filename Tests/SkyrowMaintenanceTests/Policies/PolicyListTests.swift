import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// What database logins see of access lists, and which of them they change.
@Suite(.timeLimit(.minutes(60))) struct PolicyListTests {
    private static let list = #"{"public": "read", "user:bob": "update", "role:staff": "read"}"#

    /// Rules of a type; bob may change the list of ann's record where the last one says so.
    struct Row: Sendable {
        var readers: ClassAccess.ListReaders?
        var writers: ClassAccess.ListWriters?
        var update: ClassRule?
        var bobChanges: Bool
    }

    static let rows: [Row] = [
        Row(bobChanges: false), Row(readers: .read, bobChanges: false), Row(readers: .update, bobChanges: false),
        Row(writers: .update, bobChanges: true), Row(readers: .owner, writers: .update, bobChanges: false),
        Row(readers: .read, writers: .update, bobChanges: true),
        Row(writers: .update, update: ClassRule([.role("staff")], .require), bobChanges: false),
        Row(writers: .update, update: ClassRule([.users], .override), bobChanges: true),
    ]

    @Test(arguments: rows)
    func aLoginSeesAndChangesTheListsThatItsUserDoes(_ row: Row) async throws {
        try await withPolicies { f in
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, _access) VALUES
                    ('a', 'ann', '\(Self.list)'), ('b', 'bob', '\(Self.list)'), ('n', 'ann', NULL);
                INSERT INTO note (_id, _database, _owner, _access) VALUES ('~bob/p', 'bob', NULL, '\(Self.list)')
                """
            )
            var change = ClassAccessChange(type: type("note"))
            change.listReaders = .some(row.readers)
            change.listWriters = .some(row.writers)
            if let update = row.update { change.rules[.update] = update }
            _ = try await f.store.classAccess.change(change)
            try await f.apply()
            let isOpen = row.readers == .read
            for (login, caller) in [("ann", Caller.ann), ("bob", .bob)] {
                let seen = try await f.sql(
                    login,
                    """
                    SELECT _id || ' ' || coalesce((SELECT string_agg(key, ',' ORDER BY key) FROM jsonb_object_keys(_access) AS key), '-')
                    FROM \(isOpen ? "app" : "app_visible").note WHERE _database = '_public' ORDER BY _id
                    """
                )
                var expected: [String] = []
                for name in ["a", "b", "n"] {
                    let list = try await f.records.list(of: name, as: caller, from: f.store)
                    let keys = list.map { $0.entries.map(\.subject.key).sorted().joined(separator: ",") }
                    expected.append("\(name) \(keys ?? "-")")
                }
                #expect(seen == expected.joined(separator: "\n"), "\(row) \(login)")
                if !isOpen {
                    #expect(try await f.refusal(login, "SELECT _access FROM note").contains("permission denied"))
                }
            }
            let own = "SELECT _access ? 'role:staff' FROM \(isOpen ? "app" : "app_visible").note WHERE _id = '~bob/p'"
            #expect(try await f.sql("bob", own) == "t")
            // Another list, and the one that is there, which is a guess where it is not seen.
            for (text, isNew) in [(#"{"user:bob": "update"}"#, true), (Self.list, false)] {
                let update = "UPDATE note SET _access = '\(text)' WHERE _id = 'a'"
                let mayUpdate = row.update.map { $0.mode != .require } ?? true
                if !mayUpdate {
                    try await f.sql("bob", update)
                } else if row.bobChanges || isOpen && !isNew || row.readers == .update && !isNew {
                    try await f.sql("bob", "BEGIN; \(update); ROLLBACK")
                } else {
                    #expect(try await f.refusal("bob", update).contains("You may not set _access"), "\(row)")
                }
            }
            #expect(try await f.psql("SELECT _access = '\(Self.list)' FROM note WHERE _id = 'a'") == "t")
            #expect(try await f.differences() == [])
        }
    }
}

extension RecordsFixture {
    /// The access list of a note as a caller is sent it.
    fileprivate func list(of id: String, as caller: Caller, from store: RecordStore) async throws -> AccessList? {
        try await store.fetch([RecordID("note/\(id)")], in: .everyone, caller: caller)[0].record.access
    }
}
