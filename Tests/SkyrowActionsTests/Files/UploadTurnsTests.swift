import SkyrowConcurrency
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The order of the requests of an upload in one process, and what becomes of it after each.
@Suite struct UploadTurnsTests {
    private static let a = UploadID(uuid: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef")
    private static let b = UploadID(uuid: "8b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef")

    @Test func theNewestRequestIsTheNextOne() {
        var turns = UploadTurns()
        let first = turns.enter(Self.a)
        #expect(first.entry == .runs)
        let other = turns.enter(Self.b)
        #expect(other.entry == .runs)
        let second = turns.enter(Self.a)
        #expect(second.entry == .waits(behind: first.number, displaced: nil))
        let third = turns.enter(Self.a)
        #expect(third.entry == .waits(behind: first.number, displaced: second.number))
        // The second one does not wait any more.
        let hasWithdrawn = turns.withdraw(second.number, from: Self.a)
        #expect(!hasWithdrawn)
        var next = turns.leave(Self.a)
        #expect(next == third.number)
        next = turns.leave(Self.a)
        #expect(next == nil)
        next = turns.leave(Self.b)
        #expect(next == nil)
        #expect(turns.isUnused)
    }

    @Test func aRequestThatGivesUpDoesNotRun() {
        var turns = UploadTurns()
        let first = turns.enter(Self.a)
        let second = turns.enter(Self.a)
        var hasWithdrawn = turns.withdraw(second.number, from: Self.a)
        #expect(hasWithdrawn)
        let next = turns.leave(Self.a)
        #expect(next == nil)
        hasWithdrawn = turns.withdraw(first.number, from: Self.a)
        #expect(!hasWithdrawn)
        #expect(turns.isUnused)
    }

    /// At each moment one request of an upload runs, and every request that has entered runs, waits, was sent away or has given up.
    @Test func oneRequestRunsAtATime() {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(200) {
            var turns = UploadTurns()
            var running: Int?
            var waiting: Int?
            for _ in 0..<40 {
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    let (number, entry) = turns.enter(Self.a)
                    if let running {
                        #expect(entry == .waits(behind: running, displaced: waiting))
                        waiting = number
                    } else {
                        #expect(entry == .runs)
                        running = number
                    }
                case 1:
                    let number = [running, waiting].compactMap(\.self).randomElement(using: &random) ?? 0
                    let hasWithdrawn = turns.withdraw(number, from: Self.a)
                    #expect(hasWithdrawn == (number == waiting))
                    if hasWithdrawn { waiting = nil }
                default:
                    guard running != nil else { continue }
                    let next = turns.leave(Self.a)
                    #expect(next == waiting)
                    (running, waiting) = (waiting, nil)
                }
                #expect(turns.isUnused == (running == nil))
            }
        }
    }

    @Test func aRequestWaitsForTheEndOfTheOlderOne() async throws {
        let line = UploadLine()
        let forever: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(3600)) }
        let first = try #require(await line.enter(Self.a, sleep: forever))
        #expect(first.interruption.settled == nil)
        async let second = line.enter(Self.a, sleep: forever)
        await first.interruption.value()
        line.leave(first)
        let runs = try #require(await second)
        // Without patience.
        #expect(await line.enter(Self.a, sleep: {}) == nil)
        #expect(runs.interruption.settled != nil)
        line.leave(runs)
        #expect(line.isUnused)
    }

    // MARK: - The end of a request

    struct EndRow: Sendable, CustomTestStringConvertible {
        let label: String
        var start: Int64 = 10
        let end: Int64
        var error: SkyrowError?
        var checksum = UploadEnd.Checksum.absent
        let expected: UploadEnd

        var testDescription: String { label }
    }

    private static let lost = SkyrowError(.responseTimeout, "")
    private static let tooLarge = SkyrowError.fileTooLarge(100)
    private static let wrongType = SkyrowError.invalidArgument("")

    @Test(
        arguments: [
            EndRow(label: "a part", end: 60, expected: .suspend(at: 60)),
            EndRow(label: "nothing", end: 10, expected: .suspend(at: 10)),
            EndRow(label: "the last part", end: 100, expected: .store),
            EndRow(label: "the last part with its checksum", end: 100, checksum: .right, expected: .store),
            EndRow(label: "a part with its checksum", end: 60, checksum: .right, expected: .suspend(at: 60)),
            EndRow(label: "a part with another checksum", end: 60, checksum: .wrong, expected: .suspend(at: 10)),
            EndRow(label: "the last part, another checksum", end: 100, checksum: .wrong, expected: .suspend(at: 10)),
            EndRow(label: "a client that has left", end: 60, error: lost, expected: .suspend(at: 60)),
            EndRow(label: "a client that has left at the end", end: 100, error: lost, expected: .store),
            EndRow(label: "an incomplete part", end: 60, error: lost, checksum: .wrong, expected: .suspend(at: 10)),
            EndRow(label: "an unknown rest", end: 60, error: lost, checksum: .right, expected: .suspend(at: 10)),
            EndRow(label: "too much", end: 90, error: tooLarge, expected: .suspend(at: 10)),
            EndRow(label: "too much by chance", end: 100, error: tooLarge, expected: .suspend(at: 10)),
            EndRow(label: "another type", end: 60, error: wrongType, expected: .remove),
            EndRow(label: "another type yet", end: 60, error: wrongType, checksum: .wrong, expected: .suspend(at: 10)),
        ]
    )
    func anEndKeepsWhatIsCertain(_ row: EndRow) {
        let end = UploadEnd(from: row.start, to: row.end, of: 100, error: row.error, checksum: row.checksum)
        #expect(end == row.expected)
    }

    @Test func aFailedEndIsTriedAgainWithTheLastByte() {
        #expect(UploadEnd(failing: SkyrowError(.overloaded, ""), of: 100) == .suspend(at: 99))
        #expect(UploadEnd(failing: SkyrowError(.outcomeUnknown, ""), of: 1) == .suspend(at: 0))
        #expect(UploadEnd(failing: Self.wrongType, of: 100) == .remove)
    }
}
