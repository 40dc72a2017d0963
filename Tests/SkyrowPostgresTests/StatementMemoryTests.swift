import Testing

@testable import SkyrowPostgres

/// What is remembered of statements that ran long, without threads or a server.
@Suite struct StatementMemoryTests {
    private static let start = MonotonicTime(nanoseconds: 0)

    @Test func aShapeThatRanLongIsSlowUntilItRunsQuicklySeveralTimes() {
        var memory = StatementMemory()
        #expect(memory.pace(of: 1, at: Self.start) == .quick)
        memory.ran(1, length: 10, isLong: false, at: Self.start)
        #expect(memory.isEmpty)
        memory.ran(1, length: 10, isLong: true, at: Self.start)
        #expect(memory.pace(of: 2, at: Self.start) == .quick)
        for _ in 0..<StatementMemory.patience {
            #expect(memory.pace(of: 1, at: Self.start) == .slow)
            memory.ran(1, length: 10, isLong: false, at: Self.start)
        }
        #expect(memory.pace(of: 1, at: Self.start) == .quick)
    }

    @Test func aShapeIsForgotten() {
        var memory = StatementMemory()
        memory.ran(1, length: 10, isLong: true, at: Self.start)
        #expect(memory.lengths == 1 << 10)
        #expect(memory.pace(of: 1, at: Self.start + StatementMemory.slowTime) == .quick)
        memory.forget(at: Self.start + StatementMemory.slowTime)
        #expect(memory.isEmpty && memory.lengths == 0)
    }

    @Test func aSuspectIsTimedOnceAndThenTrusted() {
        var memory = StatementMemory()
        memory.suspect(1, length: 70, at: Self.start)
        #expect(memory.pace(of: 1, at: Self.start) == .unproven)
        #expect(memory.lengths == 1 << 6)
        memory.ran(1, length: 70, isLong: false, at: Self.start)
        memory.suspect(1, length: 70, at: Self.start)
        #expect(memory.pace(of: 1, at: Self.start) == .quick)
        #expect(memory.lengths == 0)
        memory.suspect(1, length: 70, at: Self.start + StatementMemory.trustTime)
        #expect(memory.pace(of: 1, at: Self.start + StatementMemory.trustTime) == .unproven)
        memory.ran(1, length: 70, isLong: true, at: Self.start + StatementMemory.trustTime)
        #expect(memory.pace(of: 1, at: Self.start + StatementMemory.trustTime) == .slow)
    }

    @Test func aRowThatHoldsWritesUpIsKnownAndAfterSomeOfThemItsTable() {
        var memory = StatementMemory()
        func row(_ row: Int, of table: Int = 1) -> PostgresContention { PostgresContention(table: table, row: row) }
        memory.waited(for: row(1), at: Self.start)
        #expect(memory.isHeld(row(1), at: Self.start))
        #expect(!memory.isHeld(row(2), at: Self.start))
        for number in 2...StatementMemory.rowsOfLockedTable { memory.waited(for: row(number), at: Self.start) }
        #expect(memory.isHeld(row(99), at: Self.start))
        #expect(!memory.isHeld(row(1, of: 2), at: Self.start))
        #expect(!memory.isHeld(row(1), at: Self.start + StatementMemory.heldTime))
    }

    @Test func theMemoryIsBounded() {
        var memory = StatementMemory()
        for shape in 0..<10_000 {
            memory.ran(shape, length: shape, isLong: true, at: Self.start + .milliseconds(shape))
            memory.waited(for: PostgresContention(table: shape, row: shape), at: Self.start)
        }
        #expect(memory.slowShapes == StatementMemory.capacity)
        #expect(memory.pace(of: 9_999, at: Self.start + .milliseconds(9_999)) == .slow)
        #expect(memory.pace(of: 0, at: Self.start + .milliseconds(9_999)) == .quick)
    }
}
