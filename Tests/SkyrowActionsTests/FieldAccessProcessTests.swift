import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Rules of fields of all types, in every process at once.
@Suite(.timeLimit(.minutes(60))) struct FieldAccessProcessTests {
    @Test func anotherProcessGoesByRulesOfEveryTypeAtOnce() async throws {
        try await withService { fixture in
            try await fixture.psql(
                "SELECT _create_type('film'); ALTER TABLE film ADD title text; SELECT _create_type('song')"
            )
            try await fixture.withSecondService { other in
                try await fixture.service.store.cache.reload()
                let film = try RecordTypeName("film")
                let title = try FieldName("title")
                let master = ServiceFixture.masterCaller
                let staff = FieldAccess(Caller(kind: .user("sue"), roles: ["staff"]))
                func standings(_ service: ServiceFixture, _ name: String) -> [AccessCondition] {
                    guard let type = try? RecordTypeName(name) else { return [] }
                    let rules = service.service.store.cache.current[type]?.rules.fields
                    return [.anonymous, staff].compactMap { rules?.standing(.read, of: title, for: $0) }
                }
                let everywhere = FieldRuleScope(type: nil, field: nil)
                let rows: [(rules: [SkygearFieldRule], film: [AccessCondition], song: [AccessCondition])] = [
                    (
                        [SkygearFieldRule(everywhere, .role("staff"), readable: true)], [.never, .always],
                        [.never, .always]
                    ),
                    (
                        [
                            SkygearFieldRule(everywhere, .role("staff"), readable: true),
                            SkygearFieldRule(FieldRuleScope(type: film, field: title), .everyone, readable: true),
                        ], [.always, .always], [.never, .always]
                    ),
                    (
                        [SkygearFieldRule(FieldRuleScope(type: film, field: nil), .everyone)], [.never, .never],
                        [.always, .always]
                    ),
                    ([], [.always, .always], [.always, .always]),
                ]
                for row in rows {
                    let answered = try await fixture.service.run(Actions.schemaFieldAccessUpdate, row.rules, by: master)
                    #expect(Set(answered) == Set(row.rules))
                    // This process goes by them when it answers, the other one once it has heard.
                    #expect(standings(fixture, "film") == row.film && standings(fixture, "song") == row.song)
                    try await waiting(until: "the other process has heard") {
                        standings(other, "film") == row.film && standings(other, "song") == row.song
                    }
                    #expect(try await other.service.run(Actions.schemaFieldAccessGet, (), by: master) == answered)
                }
            }
        }
    }
}
