import SkyrowTestSupport
import Testing

@testable import SkyrowClient

@Suite struct EventStreamParserTests {
    typealias Event = EventStreamParser.Event

    private static func event(_ data: String, _ name: String = "message", id: String = "") -> Event {
        Event(name: name, data: Array(data.utf8), lastID: id)
    }

    /// A stream, and its events by the HTML standard.
    private static let rows: [(stream: String, events: [Event])] = [
        ("", []),
        ("data: a\n\n", [event("a")]),
        ("data:a\n\n", [event("a")]),
        ("data:  a\n\n", [event(" a")]),
        ("data\n\n", [event("")]),
        ("data: a", []),
        ("data: a\n", []),
        ("data: a\ndata: b\n\n", [event("a\nb")]),
        ("data\ndata\n\n", [event("\n")]),
        ("data: a\r\n\r\n", [event("a")]),
        ("data: a\r\r", [event("a")]),
        ("data: a\r\rdata: b\n\r\n", [event("a"), event("b")]),
        ("data: a\n\ndata: b\r\rdata: c\r\n\r\n", [event("a"), event("b"), event("c")]),
        (": comment\n\ndata: a\n\n", [event("a")]),
        (":\n\n:\r\n\r\n", []),
        ("event: live:reset\ndata: a\n\ndata: b\n\n", [event("a", "live:reset"), event("b")]),
        ("event: x\n\ndata: a\n\n", [event("a")]),
        ("id: 7\ndata: a\n\ndata: b\n\n", [event("a", id: "7"), event("b", id: "7")]),
        ("id: 7\n\ndata: b\n\n", [event("b", id: "7")]),
        ("id: 7\ndata: a\n\nid\ndata: b\n\n", [event("a", id: "7"), event("b")]),
        ("id: a\0b\ndata: a\n\n", [event("a")]),
        ("data: a\nid: 7", []),
        ("\u{FEFF}data: a\n\n", [event("a")]),
        ("\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", [event("b")]),
        ("unknown: a\nDATA: b\ndata : c\n\n", []),
        ("data: a:b: c\n\n", [event("a:b: c")]),
        ("data: \u{E9}\u{1F600}\n\n", [event("\u{E9}\u{1F600}")]),
    ]

    @Test(arguments: rows.indices)
    func aStreamHasTheEventsOfTheStandard(row: Int) throws {
        let (stream, events) = Self.rows[row]
        var parser = EventStreamParser()
        #expect(try parser.take(Array(stream.utf8)) == events)
        // Byte by byte, with empty pieces.
        var slow = EventStreamParser()
        var found: [Event] = []
        for byte in stream.utf8 { found += try slow.take([]) + slow.take([byte]) }
        #expect(found == events)
    }

    @Test(arguments: [
        ("retry: 1500\n", 1500), ("retry:0\n", 0), ("retry: 10\nretry: 20\n", 20), ("retry: 1.5\n", nil),
        ("retry: -1\n", nil), ("retry\n", nil), ("retry: 99999999999999999999\n", nil), ("retry: 10", nil),
    ])
    func aPauseIsANumberOfMilliseconds(stream: String, milliseconds: Int?) throws {
        var parser = EventStreamParser()
        _ = try parser.take(Array(stream.utf8))
        #expect(parser.retry == milliseconds.map { .milliseconds($0) })
    }

    @Test func anyCutGivesTheSameEvents() throws {
        var random = SeededGenerator.forTest()
        let words = [
            "data", "event", "id", "retry", ":", " ", "\n", "\r", "\r\n", "\n\n", "x", "\0", "7", "\u{FEFF}", "é",
        ]
        for _ in 0..<20_000 {
            var stream: [UInt8] = []
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                stream += Array(words[Int.random(in: 0..<words.count, using: &random)].utf8)
            }
            if Int.random(in: 0..<10, using: &random) == 0 {
                stream.append(UInt8.random(in: 128...255, using: &random))
            }
            var whole = EventStreamParser()
            let events = try whole.take(stream)
            var cut = EventStreamParser()
            var found: [Event] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...rest.count, using: &random))
                rest = rest.dropFirst(piece.count)
                found += try cut.take(Array(piece))
            }
            try #require(found == events, "\(stream)")
            try #require(cut.retry == whole.retry && cut.lastID == whole.lastID, "\(stream)")
        }
    }

    @Test(arguments: [
        ("data: 123456789\n\n", nil as EventStreamParser.Failure?),
        ("data: 1234567890", nil),
        ("data: 1234567890x", .lineTooLong),
        ("data: 1234567890x\n", .lineTooLong),
        (": 1234567890 comment\n", .lineTooLong),
        ("data: 12345678\ndata: 12345678\ndata: 1\n\n", nil),
        ("data: 12345678\ndata: 12345678\ndata: 12\n\n", .eventTooLong),
        ("data: 12345678\ndata: 12345678\n\ndata: 12345678\n\n", nil),
    ])
    func whatIsTooLongIsRefused(stream: String, failure: EventStreamParser.Failure?) throws {
        for size in [1, 7, 1000] {
            var parser = EventStreamParser(maximumLineBytes: 16, maximumEventBytes: 19)
            var found: EventStreamParser.Failure?
            var rest = Array(stream.utf8)[...]
            while !rest.isEmpty, found == nil {
                do throws(EventStreamParser.Failure) {
                    _ = try parser.take(Array(rest.prefix(size)))
                } catch {
                    found = error
                }
                rest = rest.dropFirst(size)
            }
            #expect(found == failure)
            if let failure { #expect(throws: failure) { try parser.take(Array("data: a\n\n".utf8)) } }
        }
    }
}
