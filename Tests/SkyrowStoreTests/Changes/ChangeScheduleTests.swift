import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Random transactions that overlap, stay open, roll back, are prepared and use savepoints: a reader of the feed holds at the
/// end of each pass what its caller finds, and never got anything that its caller could not read.
@Suite(.timeLimit(.minutes(60))) struct ChangeScheduleTests {
    private static let settings = [
        "max_prepared_transactions": "20",
        // What is not committed stays in memory for long, so that crashes take it back.
        "wal_writer_delay": "10s",
    ]

    private static func readers(_ fixture: RecordsFixture) -> [WatchedReader] {
        [
            WatchedReader(fixture, .ann), WatchedReader(fixture, .bob), WatchedReader(fixture, .anonymous),
            WatchedReader(fixture, .master), WatchedReader(fixture, .bob, title: "a"),
            WatchedReader(fixture, .anonymous, title: "b"),
        ]
    }

    @Test(arguments: [0, 4]) func aReaderHoldsWhatItsCallerFinds(crashes: Int) async throws {
        let cluster = try await TemporaryCluster.start(settings: Self.settings)
        let seed = SeededGenerator.forTest().seed &+ UInt64(crashes)
        // A quick run takes a third of the steps, or more until each kind of step has been taken.
        let (steps, most) = (min(seededCases(500), 1500), 1500)
        let kinds = ["commit", "rollback", "prepare", "commit prepared", "back to a savepoint", "save", "id taken"]
        try await withRecords(on: cluster) { f in
            let witness = try await FeedWitness(f)
            var random = SeededGenerator(seed: seed ^ 0x5eed)
            var schedule = await FeedSchedule(f, on: cluster, writers: 5, seed: seed)
            var readers = Self.readers(f)
            var numbers = NumberReader(f)
            for number in 1...most {
                if number > steps, numbers.failures > 0, kinds.allSatisfy({ schedule.taken[$0] ?? 0 > 0 }) { break }
                try await schedule.step()
                if crashes > 0, number % (steps / (crashes + 1)) == 0 { try await schedule.crash() }
                let place = Int.random(in: readers.indices, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0, 1, 2:
                    // Others write between its pages.
                    _ = try await readers[place].readPage()
                case 3:
                    try await readers[place].catchUp()
                    // A pass that was under way before may have older records.
                    try await readers[place].catchUp()
                    let present = try await witness.present()
                    let expected = readers[place].expected(of: present)
                    #expect(readers[place].held == expected, "seed \(seed), step \(number), \(readers[place].caller)")
                    try await numbers.catchUp(present)
                default: break
                }
            }
            await schedule.finish()
            let (present, past) = (try await witness.present(), try await witness.past())
            for place in readers.indices {
                try await readers[place].catchUp()
                try await readers[place].catchUp()
                let reader = readers[place]
                #expect(reader.held == reader.expected(of: present), "seed \(seed), \(reader.caller)")
                let ids = try await f.query(
                    reader.title.map { .compare(.eq, "title", .string($0)) },
                    reader.caller
                ) { $0.limit = 1000 }
                #expect(Set(ids) == Set(reader.held.map(\.id)))
                reader.expectNothingForbidden(in: past, seed)
            }
            // The others have something to be wrong about, and asking by number is wrong.
            #expect(numbers.failures > 0)
            for step in kinds {
                #expect(schedule.taken[step] ?? 0 > 0, "\(step): \(schedule.taken)")
            }
        }
    }

    /// The same without an order: writers do not wait for readers, nor statements of a page for those of writers.
    @Test func aReaderHoldsWhatItsCallerFindsWhileAllWrite() async throws {
        let cluster = try await TemporaryCluster.start(settings: Self.settings)
        let seed = SeededGenerator.forTest().seed
        try await withRecords(on: cluster) { f in
            let witness = try await FeedWitness(f)
            let ends = Counter()
            let readers = try await withThrowingTaskGroup(of: [WatchedReader].self) { group in
                for (place, first) in Self.readers(f).enumerated() {
                    group.addTask {
                        var reader = first
                        while ends.value == 0 {
                            try await reader.catchUp()
                            try await Task.sleep(for: .milliseconds(place))
                        }
                        try await reader.catchUp()
                        return [reader]
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { writers in
                    for number in 0..<4 {
                        writers.addTask {
                            var schedule = await FeedSchedule(
                                f,
                                on: cluster,
                                writers: 2,
                                seed: seed &* 31 &+ UInt64(number)
                            )
                            for _ in 0..<500 { try await schedule.step() }
                            await schedule.finish()
                        }
                    }
                    try await writers.waitForAll()
                }
                ends.increment()
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let (present, past) = (try await witness.present(), try await witness.past())
            for reader in readers {
                #expect(reader.held == reader.expected(of: present), "seed \(seed), \(reader.caller)")
                #expect(reader.pages > 20)
                reader.expectNothingForbidden(in: past, seed)
            }
        }
    }
}
