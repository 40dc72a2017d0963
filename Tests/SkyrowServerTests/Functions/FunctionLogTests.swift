import Logging
import Testing

@testable import SkyrowServer

@Suite struct FunctionLogTests {
    private static let start = ContinuousClock.now

    private func lines(_ texts: String...) -> [FunctionLog.Line] {
        var log = FunctionLog()
        return texts.flatMap { log.take(Array($0.utf8), at: Self.start) } + log.end()
    }

    private func line(
        _ message: String,
        _ level: Logger.Level = .info,
        requestID: String? = nil
    ) -> FunctionLog.Line {
        FunctionLog.Line(level: level, message: message, requestID: requestID)
    }

    @Test func linesAreCompleteWhateverThePartsAre() {
        #expect(lines("a\nb\n") == [line("a"), line("b")])
        #expect(lines("a", "b\nc", "\n") == [line("ab"), line("c")])
        #expect(lines("a\n\n\nb") == [line("a"), line("b")])
        #expect(lines("") == [])
        #expect(lines("é", "\n") == [line("é")])
    }

    @Test func controlCharactersAreNotPassedOn() {
        #expect(lines("\u{1b}[31mred\r\n") == [line(" [31mred ")])
        #expect(lines(#"{"message":"a\nb\u001b"}"# + "\n") == [line("a b ")])
    }

    @Test(
        arguments: [
            (#"{"message":"m"}"#, .info, "m", nil),
            (#"{"level":"DEBUG","message":"m","request_id":"r"}"#, .debug, "m", "r"),
            (#"{"level":"warn","msg":"m"}"#, .warning, "m", nil),
            (#"{"level":"warning","message":"m","request_id":7}"#, .warning, "m", nil),
            (#"{"level":"error","message":"m"}"#, .error, "m", nil),
            (#"{"level":"fatal","message":"m"}"#, .critical, "m", nil),
            (#"{"level":30,"message":"m"}"#, .info, "m", nil),
            // Anything else is text.
            (#"{"level":"error"}"#, .info, #"{"level":"error"}"#, nil), (#"{"message":"#, .info, #"{"message":"#, nil),
            ("[1]", .info, "[1]", nil),
        ] as [(String, Logger.Level, String, String?)]
    )
    func whatALineOfJSONSaysIsTakenOver(_ text: String, _ level: Logger.Level, _ message: String, _ id: String?) {
        #expect(lines(text + "\n") == [line(message, level, requestID: id)])
    }

    @Test func longLinesAreCut() {
        let long = String(repeating: "x", count: FunctionLog.maximumLine)
        #expect(lines(long + "\n") == [line(long)])
        #expect(lines(long + "y\nz\n") == [line(long + "…"), line("z")])
        #expect(lines(long, "y", "y", "\n") == [line(long + "…")])
        // A cut text is no JSON.
        #expect(lines(#"{"message":""# + long + "\"}\n").first?.message.hasPrefix("{") == true)
    }

    @Test func moreLinesThanTheRateAreCounted() {
        var log = FunctionLog()
        let text = Array(String(repeating: "a\n", count: FunctionLog.maximumRate + 234).utf8)
        let first = log.take(text, at: Self.start)
        #expect(first.count == FunctionLog.maximumRate && log.isFull)
        let same = log.take(Array("b\n".utf8), at: Self.start + .milliseconds(999))
        #expect(same == [])
        let next = log.take(Array("c\n".utf8), at: Self.start + .seconds(1))
        #expect(
            next == [line("235 lines of a function server were dropped: it wrote too many", .warning), line("c")]
        )
        #expect(!log.isFull)
        let end = log.end()
        #expect(end == [])
    }
}
