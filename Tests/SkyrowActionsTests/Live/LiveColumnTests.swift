import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Columns that are in no stream, and those that are no fields.
@Suite(.timeLimit(.minutes(60))) struct LiveColumnTests {
    /// Failed once: each change of such a type was a reset.
    @Test(arguments: LiveQueryTests.sources, [false, true])
    func columnsOfPsqlAreNoHindrance(_ source: LiveConfiguration.Source, _ hasKeysAlone: Bool) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.psql(
                """
                ALTER TABLE note ADD "Weird col" integer, ADD _note text, ADD "größe" integer, ADD _parent integer,
                    ADD total bigint GENERATED ALWAYS AS (n * small) STORED,
                    ADD loud text COLLATE "C" GENERATED ALWAYS AS (upper(title) || coalesce('!' || tags[1], '')) STORED,
                    ADD found tsvector GENERATED ALWAYS AS (to_tsvector('simple', coalesce(title, ''))) STORED
                """
            )
            if hasKeysAlone { try await fixture.psql("ALTER TABLE note REPLICA IDENTITY DEFAULT") }
            try await fixture.service.store.cache.reload()
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            let hasPrevious = source == .logical && !hasKeysAlone
            func subscribe(_ name: String, _ predicate: RecordPredicate?) async throws {
                var request = LiveSubscribeRequest(name: name, type: type("note"), predicate: predicate)
                if hasPrevious { request.previous = .all }
                try await session.subscribe(request, as: .anonymous)
                try await outlet.waitUntilReady(name)
            }
            let total = Operand.keyPath(FieldPath(unchecked: "total"))
            try await subscribe("all", nil)
            try await subscribe("total", .comparison(.eq, total, .value(.integer(6))))
            try await session.subscribe(LiveSubscribeRequest(name: "marks", type: type("category")), as: .anonymous)
            try await outlet.waitUntilReady("marks")
            let rows: [(statement: String, all: String, total: String, record: [String: String])] = [
                (
                    "INSERT INTO note (_id, title, n, small, \"Weird col\", \"größe\") VALUES ('1', 'a', 2, 3, 1, 1)",
                    "created", "created", ["total": "6", "loud": "A"]
                ),
                ("UPDATE note SET \"Weird col\" = 2, _note = 'x'", "updated", "updated", ["total": "6", "loud": "A"]),
                ("UPDATE note SET title = 'b', tags = '{x}'", "updated", "updated", ["total": "6", "loud": "B!x"]),
                ("UPDATE note SET n = 5", "updated", "left", ["total": "15", "loud": "B!x"]),
                ("UPDATE note SET n = 1, small = 6", "updated", "entered", ["total": "6", "loud": "B!x"]),
                ("UPDATE note SET title = NULL, n = NULL", "updated", "left", ["total": "null", "loud": "null"]),
                ("UPDATE note SET n = 1", "updated", "entered", ["total": "6", "loud": "null"]),
                ("DELETE FROM note", "deleted", "deleted", [:]),
            ]
            for (place, row) in rows.enumerated() {
                outlet.clear()
                try await fixture.change(row.statement)
                try await fixture.change("INSERT INTO category (_id) VALUES ('m\(place)')")
                try await waiting(until: "the mark arrives", hearing: [outlet]) {
                    outlet.held("marks")["category/m\(place)"] != nil
                }
                for (name, expected) in [("all", row.all), ("total", row.total)] {
                    let events = outlet.events.filter { $0.subscription == name }
                    #expect(events.map(\.event).joined(separator: " ") == expected, "\(name): \(row.statement)")
                    guard let last = events.last, !last.record.isEmpty else { continue }
                    for (member, value) in row.record {
                        #expect(last.record[member] ?? "null" == value, "\(member) of \(name): \(row.statement)")
                    }
                }
                let old = outlet.events.first { $0.subscription == "all" && $0.event == "updated" }?.previous
                if hasPrevious, place == 3 { #expect(old == ["n": "2", "total": "6"]) }
            }
            #expect(outlet.reset("all") == nil && outlet.reset("total") == nil && outlet.faults == [])
            session.end()
        }
    }

    /// More rows than are computed in one statement.
    @Test func manyRowsAreComputed() async throws {
        try await withLiveService(.logical) { fixture in
            try await fixture.psql(
                "ALTER TABLE note ADD total bigint GENERATED ALWAYS AS (n * 2) STORED, ADD one bigint GENERATED ALWAYS AS (1) STORED"
            )
            try await fixture.service.store.cache.reload()
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(LiveSubscribeRequest(name: "s", type: type("note")), as: .anonymous)
            try await outlet.waitUntilReady("s")
            try await fixture.change(
                "INSERT INTO note (_id, n) SELECT 'k' || i, i FROM generate_series(1, 203) AS i",
                "UPDATE note SET n = n + 1000 WHERE n % 2 = 0"
            )
            try await waiting(until: "all are there", hearing: [outlet]) { outlet.held("s").count == 203 }
            for (id, record) in outlet.held("s") {
                let number = Int(id.dropFirst("note/k".count)) ?? 0
                let n = number.isMultiple(of: 2) ? number + 1000 : number
                #expect(record["n"] == "\(n)" && record["total"] == "\(2 * n)" && record["one"] == "1", "\(id)")
            }
            #expect(outlet.reset("s") == nil)
            session.end()
        }
    }
}
