import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct MigratorTests {
    private static let first = Migration(version: 1, name: "0001_initial", script: "")
    private static let second = Migration(version: 2, name: "0002_more", script: "")
    private let migrator = Migrator(migrations: [first, second])

    struct Row: Sendable {
        var state: Migrator.DatabaseState
        var steps: [Migrator.Step]

        init(
            _ versions: Set<Int>?,
            isHomeCluster: Bool = true,
            hasRestarted: Bool = false,
            lacksEventTriggers: Bool = false,
            steps: [Migrator.Step]
        ) {
            state = .init(
                versions: versions,
                isHomeCluster: isHomeCluster,
                hasRestarted: hasRestarted,
                lacksEventTriggers: lacksEventTriggers
            )
            self.steps = steps
        }
    }

    @Test(arguments: [
        Row(nil, steps: [.install]),
        Row([], steps: [.migrate(first), .migrate(second)]),
        Row([1], steps: [.migrate(second)]),
        Row([1, 2], steps: []),
        Row([1, 2], isHomeCluster: false, steps: [.rebaseRevisions]),
        Row([1, 2], hasRestarted: true, steps: [.moveRevisions]),
        Row([1, 2], isHomeCluster: false, hasRestarted: true, steps: [.rebaseRevisions]),
        Row([1, 2], lacksEventTriggers: true, steps: [.installEventTriggers]),
        Row(
            [1],
            isHomeCluster: false,
            lacksEventTriggers: true,
            steps: [.migrate(second), .rebaseRevisions, .installEventTriggers]
        ),
    ])
    func theStateDecidesTheSteps(_ row: Row) throws {
        #expect(try migrator.steps(for: row.state) == row.steps)
    }

    @Test(arguments: [
        (true, ["_migration", "_user"], MigrationError.databaseIsOld),
        (false, ["_mine"], .schemaIsTaken(["_mine"])),
        (false, ["_migration", "_user"], .schemaIsTaken(["_migration", "_user"])),
    ])
    func whatStandsInThePlaceOfTheReservedTablesIsLeftAlone(
        isOld: Bool,
        strangers: [String],
        expected: MigrationError
    ) throws {
        let state = Migrator.DatabaseState(versions: nil, isOld: isOld, strangers: strangers)
        #expect(throws: expected) { try Migrator().steps(for: state) }
    }

    @Test func anOldDatabaseIsRefusedWithWhatToDo() {
        let text = MigrationError.databaseIsOld.description
        #expect(text.contains("skyrow export") && text.contains("skyrow import"))
        let taken = MigrationError.schemaIsTaken(["a", "b", "c", "d", "e", "f"]).description
        #expect(taken.contains("(a, b, c, d, e, …)"))
    }

    @Test func aNewerDatabaseIsRefused() {
        #expect(throws: MigrationError.databaseIsNewer(version: 3, supported: 2)) {
            try migrator.steps(for: .init(versions: [1, 2, 3]))
        }
    }

    @Test(arguments: [nil, [1], [1, 2]] as [Set<Int>?])
    func aDatabaseThatIsNotInUTF8IsRefused(versions: Set<Int>?) {
        let error = #expect(throws: MigrationError.databaseIsNotUTF8(encoding: "SQL_ASCII")) {
            try migrator.steps(for: .init(versions: versions, encoding: "SQL_ASCII"))
        }
        #expect(error?.description.contains("SQL_ASCII") == true)
    }

    @Test func theRefusalSaysBothVersions() {
        let text = MigrationError.databaseIsNewer(version: 3, supported: 2).description
        #expect(text.contains("3") && text.contains("2") && text.contains("newer skyrow"))
    }

    /// The files on disk are the witness: one that is not in `Migration.all` is found here.
    @Test func theBinaryHoldsEveryFile() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../sql").standardized
        func text(_ file: String) throws -> String {
            try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path()).filter { $0.hasSuffix(".sql") }
        let frozen = files.filter { $0.hasPrefix("migrations/") }.sorted()
        #expect(files.count == frozen.count + 2)
        #expect(try Migration.present == text("schema.sql"))
        #expect(try Migration.applications == text("applications.sql"))
        #expect(Migration.all.map(\.version) == Array(1...max(frozen.count, 1)))
        if frozen.isEmpty {
            #expect(Migration.all.map(\.script) == [Migration.present])
        } else {
            #expect(Migration.all.map { "migrations/\($0.name).sql" } == frozen)
            #expect(try Migration.all.map(\.script) == frozen.map(text))
        }
    }
}
