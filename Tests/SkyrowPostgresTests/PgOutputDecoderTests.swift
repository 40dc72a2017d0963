import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

@Suite struct PgOutputDecoderTests {
    private func decode(_ bytes: [UInt8]) throws(PgOutputError) -> ReplicationMessage {
        try PgOutputDecoder().message(in: ReplicationBuffer(bytes))
    }

    @Test func everyMessageIsRead() throws {
        guard case .begin(let position, let time, 42) = try decode(NoteMessages.begin) else {
            Issue.record("No begin")
            return
        }
        #expect(position.description == "0/200")
        #expect(time.microsecondsSince2000 == 11)
        guard case .commit(let committed, let end, _) = try decode(NoteMessages.commit) else {
            Issue.record("No commit")
            return
        }
        #expect([committed.rawValue, end.rawValue] == [0x200, 0x230])
        guard case .relation(let relation) = try decode(NoteMessages.relation) else {
            Issue.record("No relation")
            return
        }
        #expect([relation.schema, relation.name] == ["app", "note"])
        #expect(relation.identity == .full)
        #expect(relation.columns.map(\.name) == ["_id", "title"])
        #expect(relation.columns.map(\.isKey) == [true, false])
        #expect(relation.columns.map(\.type) == [.text, .text])
        guard case .insert(PostgresOID(rawValue: 7), let new) = try decode(NoteMessages.insert) else {
            Issue.record("No insert")
            return
        }
        #expect(new.line == "1|a")
        guard case .truncate([PostgresOID(rawValue: 7)], true, true) = try decode(NoteMessages.truncate) else {
            Issue.record("No truncate")
            return
        }
        guard case .origin(_, "elsewhere") = try decode(NoteMessages.origin) else {
            Issue.record("No origin")
            return
        }
        guard case .type(PostgresOID(rawValue: 20001), "pg_catalog", "mood") = try decode(NoteMessages.type) else {
            Issue.record("No type")
            return
        }
        guard case .message(_, true, "p", [0x41, 0x42]) = try decode(NoteMessages.message) else {
            Issue.record("No message")
            return
        }
    }

    @Test(
        arguments: [
            (NoteMessages.update, "1|a", true, "1|~"),
            (NoteMessages.updateOfKey, "1|null", false, "2|null"),
            (NoteMessages.updateAlone, nil, false, "1|b"),
        ] as [([UInt8], String?, Bool, String)]
    )
    func anUpdateHasTheRowBeforeAsTheTableSendsIt(bytes: [UInt8], before: String?, isFull: Bool, after: String) throws {
        guard case .update(_, let old, let new) = try decode(bytes) else {
            Issue.record("No update")
            return
        }
        #expect(old?.tuple.line == before)
        #expect(new.line == after)
        if case .full? = old { #expect(isFull) } else { #expect(!isFull) }
    }

    @Test func aValueThatIsUnchangedIsTakenFromTheOldRow() throws {
        guard case .relation(let relation) = try decode(NoteMessages.relation),
            case .update(_, let old, let new) = try decode(NoteMessages.update)
        else {
            Issue.record("No update")
            return
        }
        let change = RowChange(kind: .update, relation: relation, old: old, new: new)
        let bytes = withExtendedLifetime(change) { change.unsafeNewBytes(1).map { Array($0) } }
        #expect(bytes == Array("a".utf8))
    }

    @Test(
        arguments: [
            ([], .empty),
            ([0x53], .unknownKind(0x53)),
            (Array(NoteMessages.begin.dropLast()), .truncated),
            (NoteMessages.commit + [0, 0], .trailingBytes(2)),
            (MessageWriter("I").integer(Int32(7)).tag("K").integer(Int16(0)).bytes, .unknownTag(0x4B)),
            (MessageWriter("I").integer(Int32(7)).tag("N").integer(Int16(-1)).bytes, .negativeCount(-1)),
            (MessageWriter("I").integer(Int32(7)).tag("N").integer(Int16(1)).tag("x").bytes, .unknownTag(0x78)),
            (
                MessageWriter("I").integer(Int32(7)).tag("N").integer(Int16(1)).tag("b").integer(Int32(-5)).bytes,
                .negativeCount(-5)
            ),
            (
                MessageWriter("I").integer(Int32(7)).tag("N").integer(Int16(1)).tag("b").integer(Int32.max).tag("x")
                    .bytes,
                .truncated
            ),
            (MessageWriter("T").integer(Int32.max).integer(Int8(0)).bytes, .truncated),
            (MessageWriter("O").integer(Int64(0)).tag("a").bytes, .truncated),
            (
                MessageWriter("R").integer(Int32(7)).text("").text("n").tag("z").integer(Int16(0)).bytes,
                .unknownTag(0x7A)
            ),
            (MessageWriter("R").integer(Int32(7)).text("").text("n").tag("d").integer(Int16.max).bytes, .truncated),
            ([0x4F, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0], .invalidText),
        ] as [([UInt8], PgOutputError)]
    )
    func whatIsNoMessageIsNamed(bytes: [UInt8], error: PgOutputError) {
        #expect(throws: error) { try decode(bytes) }
    }

    /// Every prefix of every message, and messages with bytes changed, cut out, repeated and inserted.
    @Test func anyBytesGiveAMessageOrAnError() throws {
        var random = SeededGenerator.forTest()
        for message in NoteMessages.all {
            for length in 0..<message.count {
                #expect(throws: PgOutputError.self) { try decode(Array(message.prefix(length))) }
            }
        }
        var messages = 0
        for _ in 0..<200_000 {
            var bytes = NoteMessages.all.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...3, using: &random) { Self.mutate(&bytes, using: &random) }
            guard let message = try? decode(bytes) else { continue }
            messages += 1
            Self.touch(message)
        }
        // Both ways were taken.
        #expect((1000..<199_000).contains(messages))
    }

    /// The state behind the decoder, which sees messages in any order, is as total.
    @Test func anyMessagesGiveTransactionsOrAnError() throws {
        var random = SeededGenerator.forTest()
        var transactions = 0
        for _ in 0..<20_000 {
            var stream = ReplicationStream(start: PostgresLSN(rawValue: 0), limits: ChangeTransactionLimits(), at: .now)
            do throws(PgOutputError) {
                for _ in 0..<12 {
                    var bytes = Self.likelyNext.randomElement(using: &random) ?? []
                    if Int.random(in: 0..<20, using: &random) == 0 { Self.mutate(&bytes, using: &random) }
                    if case .transaction(let transaction) = try stream.receive(NoteMessages.log(bytes), at: .now) {
                        transactions += 1
                        #expect(transaction.rowCount == transaction.rows.count)
                        stream.handedOn(transaction)
                    }
                }
            } catch {
                continue
            }
        }
        #expect(transactions > 100)
    }

    private static let likelyNext =
        [NoteMessages.relation, NoteMessages.begin, NoteMessages.commit] + NoteMessages.all

    private static func mutate(_ bytes: inout [UInt8], using random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: bytes.remove(at: place)
        case 3: bytes.insert([0, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0, at: place)
        default: bytes.insert(contentsOf: bytes[place...].prefix(8), at: place)
        }
    }

    /// Reads every value of a message, as its users do.
    private static func touch(_ message: ReplicationMessage) {
        switch message {
        case .insert(_, let new): _ = new.line
        case .update(_, let old, let new): _ = (old?.tuple.line, new.line)
        case .delete(_, let old): _ = old.tuple.line
        case .relation(let relation): _ = relation.columns.map(\.name)
        default: break
        }
    }
}
