/// Parses an event stream (`text/event-stream`) in chunks of any size, by the rules of the HTML standard, section 9.2.6.
///
/// ```swift
/// var parser = EventStreamParser()
/// try parser.take(Array("event: live:reset\ndata: {\"reason\"".utf8))  // []
/// try parser.take(Array(":\"gap\"}\n\n".utf8))                          // one event
/// ```
///
/// The same bytes give the same events, regardless of the chunks. Data after the last blank line is not an event.
struct EventStreamParser {
    struct Event: Hashable, Sendable {
        /// `message` unless the stream names the event.
        var name: String
        /// The data lines, joined by line feeds.
        var data: [UInt8]
        /// The last id, set by this event or an earlier one.
        var lastID: String
    }

    enum Failure: Error, Hashable {
        case lineTooLong
        case eventTooLong
    }

    private let maximumLineBytes: Int
    private let maximumEventBytes: Int

    /// The reconnection delay that the stream set last.
    private(set) var retry: Duration?
    private(set) var lastID = ""

    private var line: [UInt8] = []
    private var name: [UInt8] = []
    private var data: [UInt8] = []
    private var id = ""
    private var isAtFirstLine = true
    /// Whether a line feed would belong to the line end of the previous byte, a carriage return.
    private var isBehindReturn = false
    private var failure: Failure?

    /// - Parameters:
    ///   - maximumLineBytes: the longest line, without its end.
    ///   - maximumEventBytes: the longest data of an event.
    init(maximumLineBytes: Int = 16 << 20, maximumEventBytes: Int = 16 << 20) {
        self.maximumLineBytes = maximumLineBytes
        self.maximumEventBytes = maximumEventBytes
    }

    /// Parses the next bytes and returns the events that end in them; after too long a line or event, every call throws.
    mutating func take(_ bytes: [UInt8]) throws(Failure) -> [Event] {
        if let failure { throw failure }
        var events: [Event] = []
        do throws(Failure) {
            try read(bytes[...], into: &events)
        } catch {
            failure = error
            throw error
        }
        return events
    }

    private mutating func read(_ bytes: ArraySlice<UInt8>, into events: inout [Event]) throws(Failure) {
        var rest = bytes
        while !rest.isEmpty {
            if isBehindReturn {
                isBehindReturn = false
                if rest.first == UInt8(ascii: "\n") {
                    rest.removeFirst()
                    continue
                }
            }
            guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
                guard line.count + rest.count <= maximumLineBytes else { throw .lineTooLong }
                line += rest
                return
            }
            let length = end - rest.startIndex
            guard line.count + length <= maximumLineBytes else { throw .lineTooLong }
            isBehindReturn = rest[end] == UInt8(ascii: "\r")
            if line.isEmpty {
                try finish(rest[..<end], &events)
            } else {
                line += rest[..<end]
                let whole = line
                line = []
                try finish(whole[...], &events)
            }
            rest = rest[(end + 1)...]
        }
    }

    /// Parses a whole line.
    private mutating func finish(_ whole: ArraySlice<UInt8>, _ events: inout [Event]) throws(Failure) {
        var line = whole
        if isAtFirstLine {
            isAtFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        }
        guard !line.isEmpty else { return dispatch(&events) }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        // A comment.
        if colon == line.startIndex { return }
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        let field = line[..<colon]
        if field.elementsEqual("data".utf8) {
            guard data.count + value.count <= maximumEventBytes else { throw .eventTooLong }
            data += value
            data.append(UInt8(ascii: "\n"))
        } else if field.elementsEqual("event".utf8) {
            name = Array(value)
        } else if field.elementsEqual("id".utf8) {
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        } else if field.elementsEqual("retry".utf8) {
            guard !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let milliseconds = Int64(String(decoding: value, as: UTF8.self))
            else { return }
            retry = .milliseconds(milliseconds)
        }
    }

    private mutating func dispatch(_ events: inout [Event]) {
        lastID = id
        defer {
            data = []
            name = []
        }
        guard !data.isEmpty else { return }
        data.removeLast()
        events.append(
            Event(name: name.isEmpty ? "message" : String(decoding: name, as: UTF8.self), data: data, lastID: lastID)
        )
    }
}
