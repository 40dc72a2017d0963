import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// In sessions that can do nothing but read, so that a check which writes would be one that fails.
func examine(
    _ url: String,
    _ checks: [DoctorCheck] = DoctorCheck.ofTheDatabase,
    ahead: Int64 = 0,
    files: DoctorFiles? = nil,
    _ change: (inout DoctorLimits) -> Void = { _ in }
) async throws -> [String: [DoctorFinding]] {
    var limits = DoctorLimits()
    change(&limits)
    let limited = limits
    let diagnoses = try await withPostgresClient(url) { configuration in
        configuration.waitsForBusyMachines()
        configuration.searchPath = ["app"]
        configuration.sessionSettings["default_transaction_read_only"] = "on"
    } _: { client in
        let run = DoctorRun(
            client: client,
            schema: "app",
            limits: limited,
            now: { Int64(Date().timeIntervalSince1970 * 1e6) + ahead },
            files: files,
            logger: .quiet
        )
        return try await run(checks)
    }
    return Dictionary(uniqueKeysWithValues: diagnoses.map { ($0.check, $0.findings) })
}

/// `category` and `note` with a reference, as Skyrow makes them, and records of two users.
func withRecordsToExamine(
    on cluster: TemporaryCluster? = nil,
    _ body: (StoreFixture) async throws -> Void
) async throws {
    try await withStore(on: cluster) { fixture in
        for name in ["ann", "bob"] {
            _ = try await fixture.store.users.create(
                NewAccount(id: UserID(name), passwordHash: nil, profile: [(field("username"), .string(name))]),
                session: nil
            )
        }
        try await fixture.keep(draft("category/c", ["name": .string("x")]))
        try await fixture.keep(
            draft(
                "note/1",
                [
                    "title": .string("a"), "category": .reference(id("category/c")), "stars": .number(1.5),
                    "tags": .json(
                        JSONText(validated: Array(#"[{"$type":"date","$date":"2020-01-31T12:00:00Z"}]"#.utf8))
                    ),
                ]
            )
        )
        let mine = SaveRequest.Item.draft(draft("note/2", ["category": .reference(id("category/c"))]))
        let ann = Caller(kind: .user("ann"), roles: [])
        _ = try await fixture.store.save([mine], in: .user("ann"), caller: ann, atomic: true)
        try await body(fixture)
    }
}
