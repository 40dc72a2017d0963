import Logging
import SkyrowJSON

/// The lines that a function server writes, as a value: cut, bounded in number, and read where they are JSON.
///
/// ```swift
/// var lines = FunctionLog()
/// lines.take(Array("ready\n".utf8), at: .now)  // [FunctionLog.Line(level: .info, message: "ready")]
/// ```
struct FunctionLog: Sendable {
    struct Line: Hashable, Sendable {
        var level: Logger.Level
        var message: String
        var requestID: String?
    }

    /// The bytes of a line; the rest is cut off.
    static let maximumLine = 8192
    /// The lines of a second; more are counted.
    static let maximumRate = 1000

    private var line: [UInt8] = []
    private var isCut = false
    private var second: ContinuousClock.Instant?
    private var count = 0
    private var dropped = 0

    /// Whether lines of this second have been dropped.
    var isFull: Bool { dropped > 0 }

    /// Adds what was written, and returns the lines that it completes.
    mutating func take(_ bytes: [UInt8], at now: ContinuousClock.Instant) -> [Line] {
        var lines: [Line] = []
        if second.map({ now - $0 >= .seconds(1) }) ?? true {
            lines += report()
            second = now
            count = 0
        }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            lines += complete()
            rest = rest[(end + 1)...]
        }
        append(rest)
        return lines
    }

    /// Returns the last line, if it has no line break, and the number of dropped ones.
    mutating func end() -> [Line] {
        complete() + report()
    }

    private mutating func append(_ part: ArraySlice<UInt8>) {
        let room = Self.maximumLine - line.count
        line += part.prefix(room)
        if part.count > room { isCut = true }
    }

    private mutating func complete() -> [Line] {
        defer {
            line.removeAll(keepingCapacity: true)
            isCut = false
        }
        guard !line.isEmpty else { return [] }
        guard count < Self.maximumRate else {
            dropped += 1
            return []
        }
        count += 1
        return [FunctionLog.line(line, isCut: isCut)]
    }

    /// Returns a line about the dropped ones, and forgets them.
    private mutating func report() -> [Line] {
        defer { dropped = 0 }
        return dropped == 0
            ? []
            : [Line(level: .warning, message: "\(dropped) lines of a function server were dropped: it wrote too many")]
    }

    private static func line(_ bytes: [UInt8], isCut: Bool) -> Line {
        if !isCut, bytes.first == UInt8(ascii: "{"), let line = structured(bytes) { return line }
        return Line(level: .info, message: plain(String(decoding: bytes, as: UTF8.self)) + (isCut ? "…" : ""))
    }

    /// Returns what a line of JSON says; nil without a message.
    private static func structured(_ bytes: [UInt8]) -> Line? {
        guard let document = try? JSONDocument(bytes) else { return nil }
        return document.withRoot { root in
            guard let message = root["message"]?.string ?? root["msg"]?.string else { return nil }
            return Line(
                level: level(root["level"]?.string ?? ""),
                message: plain(message),
                requestID: root["request_id"]?.string.map { plain(String($0.prefix(128))) }
            )
        }
    }

    /// Returns the level of a name of Python's, Node's or our own.
    private static func level(_ name: String) -> Logger.Level {
        switch name.lowercased() {
        case "trace": .trace
        case "debug": .debug
        case "notice": .notice
        case "warning", "warn": .warning
        case "error": .error
        case "critical", "fatal": .critical
        default: .info
        }
    }

    /// Returns the text without control characters, which could change what a terminal shows.
    private static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
        )
    }
}
