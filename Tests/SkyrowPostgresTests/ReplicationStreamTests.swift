import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

@Suite struct ReplicationStreamTests {
    private static let start = MonotonicTime(nanoseconds: 0)
    private static let clock = PostgresTimestamp(microsecondsSince2000: 5)

    private func stream(rows: Int = 10, bytes: Int = 1 << 20) -> ReplicationStream {
        var limits = ChangeTransactionLimits()
        (limits.rows, limits.bytes) = (rows, bytes)
        return ReplicationStream(start: PostgresLSN(rawValue: 0x50), limits: limits, at: Self.start)
    }

    /// The transaction that the last of some messages ends.
    private func transaction(_ messages: [[UInt8]], in stream: inout ReplicationStream) throws -> ChangeTransaction? {
        var last: ChangeTransaction?
        for message in messages {
            if case .transaction(let transaction) = try stream.receive(NoteMessages.log(message), at: Self.start) {
                last = transaction
            }
        }
        return last
    }

    private func positions(_ status: [UInt8]?) -> [UInt64] {
        guard let status, status.count == 34, status.first == UInt8(ascii: "r") else { return [] }
        return (0..<3).map { index in
            status[(1 + index * 8)..<(9 + index * 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
    }

    @Test func aTransactionComesWithItsCommit() throws {
        var stream = stream()
        let messages = [
            NoteMessages.begin, NoteMessages.relation, NoteMessages.insert, NoteMessages.truncate, NoteMessages.update,
            NoteMessages.delete,
        ]
        #expect(try transaction(messages, in: &stream) == nil)
        let found = try transaction([NoteMessages.commit], in: &stream)
        let whole = try #require(found)
        #expect(whole.transactionID == 42)
        #expect(whole.endPosition.rawValue == 0x230)
        #expect(whole.rows.map(\.kind) == [.insert, .update, .delete])
        #expect(whole.truncations.map(\.index) == [1])
        #expect(whole.isComplete)
        #expect(whole.counts == [PostgresOID(rawValue: 7): 3])
    }

    @Test(arguments: [(10, 1 << 20, true), (3, 1 << 20, true), (2, 1 << 20, false), (10, 60, false)])
    func aTransactionBeyondTheLimitsIsCounted(rows: Int, bytes: Int, isComplete: Bool) throws {
        var stream = stream(rows: rows, bytes: bytes)
        let messages = [
            NoteMessages.begin, NoteMessages.relation, NoteMessages.insert, NoteMessages.truncate, NoteMessages.insert,
            NoteMessages.insert, NoteMessages.commit,
        ]
        let found = try transaction(messages, in: &stream)
        let whole = try #require(found)
        #expect(whole.isComplete == isComplete)
        #expect(whole.rows.count == (isComplete ? 3 : 0))
        #expect(whole.rowCount == 3)
        #expect(whole.truncations.count == 1)
        #expect(whole.relations.values.map(\.name) == ["note"])
        #expect(isComplete || whole.byteCount == 0)
    }

    @Test(
        arguments: [
            ([NoteMessages.insert], .rowOutsideTransaction),
            ([NoteMessages.truncate], .rowOutsideTransaction),
            ([NoteMessages.begin, NoteMessages.begin], .nestedTransaction),
            ([NoteMessages.commit], .commitWithoutBegin),
            ([NoteMessages.begin, NoteMessages.insert], .unknownRelation(PostgresOID(rawValue: 7))),
            (
                [
                    NoteMessages.begin, NoteMessages.relation,
                    MessageWriter("I").integer(Int32(7)).tuple("N", ["1"]).bytes,
                ],
                .columnCount(1, expected: 2)
            ),
            (
                [
                    NoteMessages.begin,
                    MessageWriter("C").integer(Int8(0)).integer(Int64(1)).integer(Int64(2)).integer(Int64(3)).bytes,
                ],
                .otherCommit
            ),
        ] as [([[UInt8]], PgOutputError)]
    )
    func messagesInAnImpossibleOrderAreAnError(messages: [[UInt8]], error: PgOutputError) {
        var stream = stream()
        #expect(throws: error) { try transaction(messages, in: &stream) }
    }

    @Test func aRelationThatComesAgainHoldsFromThereOn() throws {
        var stream = stream()
        let wider = MessageWriter("R").integer(Int32(7)).text("app").text("memo").tag("d").integer(Int16(1))
            .integer(Int8(1)).text("_id").integer(Int32(25)).integer(Int32(-1)).bytes
        let messages = [
            NoteMessages.begin, NoteMessages.relation, NoteMessages.insert, wider,
            MessageWriter("I").integer(Int32(7)).tuple("N", ["2"]).bytes, NoteMessages.commit,
        ]
        let found = try transaction(messages, in: &stream)
        #expect(found?.rows.map(\.relation.name) == ["note", "memo"])
    }

    @Test func theServerHearsEachSecondWhatIsDoneWith() throws {
        var stream = stream()
        #expect(positions(stream.status(at: Self.start, clock: Self.clock)) == [0x50, 0x50, 0x50])
        #expect(stream.status(at: Self.start, clock: Self.clock) == nil)
        let found = try transaction([NoteMessages.begin, NoteMessages.commit], in: &stream)
        let whole = try #require(found)
        // It waits for its reader: the server has to keep it.
        #expect(stream.nextDeadline == Self.start + .seconds(1))
        #expect(positions(stream.status(at: Self.start + .seconds(1), clock: Self.clock)) == [0x230, 0x50, 0x50])
        stream.handedOn(whole)
        #expect(positions(stream.status(at: Self.start + .seconds(2), clock: Self.clock)) == [0x230, 0x230, 0x230])
    }

    @Test func aKeepaliveMovesThePositionBetweenTransactionsOnly() throws {
        var stream = stream()
        guard case .position(let first) = try stream.receive(NoteMessages.keepalive(0x80), at: Self.start) else {
            Issue.record("No position")
            return
        }
        #expect(first.rawValue == 0x80)
        #expect(stream.confirmed == first)
        _ = try transaction([NoteMessages.begin], in: &stream)
        guard case .nothing = try stream.receive(NoteMessages.keepalive(0x1000), at: Self.start) else {
            Issue.record("A position in a transaction")
            return
        }
        #expect(stream.confirmed == first)
        let found = try transaction([NoteMessages.commit], in: &stream)
        let whole = try #require(found)
        guard case .nothing = try stream.receive(NoteMessages.keepalive(0x1000), at: Self.start) else {
            Issue.record("A position beyond a transaction that is held")
            return
        }
        stream.handedOn(whole)
        guard case .position = try stream.receive(NoteMessages.keepalive(0x1000), at: Self.start) else {
            Issue.record("No position after the transaction")
            return
        }
    }

    @Test func aReplyThatIsAskedForComesAtOnce() throws {
        var stream = stream()
        _ = stream.status(at: Self.start, clock: Self.clock)
        let soon = Self.start + .milliseconds(1)
        #expect(stream.status(at: soon, clock: Self.clock) == nil)
        _ = try stream.receive(NoteMessages.keepalive(0x80, wantsReply: true), at: soon)
        #expect(positions(stream.status(at: soon, clock: Self.clock)) == [0x80, 0x80, 0x80])
        stream.askForPosition(at: soon)
        #expect(stream.status(at: soon, clock: Self.clock)?.last == 1)
    }

    @Test func aServerThatSaysNothingIsAskedAndThenGivenUp() {
        var stream = stream()
        func asks(after seconds: Int) -> Bool {
            stream.status(at: Self.start + .seconds(seconds), clock: Self.clock)?.last == 1
        }
        #expect(!asks(after: 1))
        #expect(asks(after: 11))
        #expect(!stream.isSilent(at: Self.start + .seconds(60)))
        #expect(stream.isSilent(at: Self.start + .seconds(61)))
        // A pause of this side's own does not count.
        stream.resumed(at: Self.start + .seconds(61))
        #expect(!stream.isSilent(at: Self.start + .seconds(61)))
    }

    @Test(
        arguments: [
            ([], .empty), ([0x78], .unknownKind(0x78)), ([0x77, 0], .truncated), ([0x6B, 0], .truncated),
            (NoteMessages.keepaliveBytes(1) + [0], .trailingBytes(1)),
            (Array(NoteMessages.keepaliveBytes(1).dropLast()) + [7], .unknownTag(7)),
        ] as [([UInt8], PgOutputError)]
    )
    func whatIsNoMessageOfTheProtocolIsNamed(bytes: [UInt8], error: PgOutputError) {
        var stream = stream()
        #expect(throws: error) { try stream.receive(ReplicationBuffer(bytes), at: Self.start) }
    }

    @Test(
        arguments: [
            ("0/0", 0), ("16/B374D848", 0x16_B374_D848), ("FFFFFFFF/FFFFFFFF", UInt64.max), ("1", nil), ("", nil),
            ("1/", nil), ("/1", nil), ("1/2/3", nil), ("100000000/0", nil), ("-1/0", nil), ("+1/0", nil), ("x/0", nil),
        ] as [(String, UInt64?)]
    )
    func aPositionIsReadFromItsText(text: String, value: UInt64?) {
        #expect(PostgresLSN(text)?.rawValue == value)
        if let value { #expect(PostgresLSN(rawValue: value).description == text) }
    }

    @Test(
        arguments: [
            ("FATAL:  42501: must be superuser or replication role to start walsender\nLOCATION:  X, y.c:1", "42501"),
            (
                "connection to server at \"h\", port 5432 failed: FATAL:  08P01: unsupported startup parameter: x",
                "08P01"
            ),
            ("could not connect: Connection refused", nil),
            ("FATAL:  28000: no\nFATAL:  53300: sorry", "53300"),
        ] as [(String, String?)]
    )
    func aRefusedConnectionIsNamedByItsState(message: String, state: String?) {
        #expect(ReplicationFailure.sqlState(in: message)?.rawValue == state)
    }

    @Test func everyFailureSaysWhatToDo() {
        let sentences = ReplicationFailure.Reason.allCases.map { ReplicationFailure($0).description }
        #expect(Set(sentences).count == ReplicationFailure.Reason.allCases.count)
    }
}
