import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The JSON of messages, in parts that several messages share.
enum LiveText {
    /// The kind of a batch of changes.
    enum Phase: String, Hashable, Sendable, CaseIterable {
        case initial, resume, live
    }

    /// `{"subscription":"s1","event":"`, the beginning of every event of a subscription, with capacity for the rest.
    static func head(_ name: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96 + name.utf8.count)
        bytes += headBeginning
        if name.utf8.allSatisfy({ $0 >= 32 && $0 < 127 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            bytes.append(UInt8(ascii: "\""))
            bytes += name.utf8
            bytes.append(UInt8(ascii: "\""))
        } else {
            let writer = JSONWriter(capacity: 16 + name.utf8.count)
            writer.string(name)
            bytes += writer.bytes
        }
        bytes += headEnd
        return bytes
    }

    /// Returns an event with a record, and with old values if there are any.
    static func event(_ head: [UInt8], _ name: String, record: [UInt8], previous: [UInt8]?) -> [[UInt8]] {
        var beginning = head
        beginning += name.utf8
        beginning += recordKey
        guard let previous else { return [beginning, record, closingBrace] }
        return [beginning, record, previousKey, previous, closingBrace]
    }

    /// Returns an event with a record and its index in a list.
    static func event(_ head: [UInt8], _ name: String, record: [UInt8], at place: Int) -> [[UInt8]] {
        [head + Array("\(name)\",\"index\":\(place),\"record\":".utf8), record, closingBrace]
    }

    /// Returns an event with the text after its name, including the end.
    static func event(_ head: [UInt8], rest: [UInt8]) -> [[UInt8]] { [head + rest] }

    /// Returns an event with only an id.
    static func event(_ head: [UInt8], _ name: String, id: String) -> [[UInt8]] {
        let writer = JSONWriter(capacity: 2 + id.utf8.count)
        writer.string(id)
        var event = head
        event += name.utf8
        event += idKey
        event += writer.bytes
        event += closingBrace
        return [event]
    }

    /// `live:changes` with some events.
    ///
    /// - Parameters:
    ///   - phase: the kind of the events.
    ///   - events: the parts of each event.
    ///   - whole: the subscription whose whole result they are; the result may be empty.
    static func changes(_ phase: Phase, _ events: [[[UInt8]]], wholeOf whole: String? = nil) -> LiveMessage {
        var parts: [[UInt8]] = []
        parts.reserveCapacity(events.count * 4 + 3)
        if let whole {
            let writer = JSONWriter(capacity: 2 + whole.utf8.count)
            writer.string(whole)
            parts.append(Array("{\"phase\":\"\(phase.rawValue)\",\"subscription\":".utf8))
            parts.append(writer.bytes)
            parts.append(Array(",\"changes\":[".utf8))
        } else {
            parts.append(Array("{\"phase\":\"\(phase.rawValue)\",\"changes\":[".utf8))
        }
        for (place, event) in events.enumerated() {
            if place > 0 { parts.append(comma) }
            parts += event
        }
        parts.append(closingList)
        return LiveMessage(.changes, parameters: parts)
    }

    /// `live:checkpoint` of some subscriptions.
    static func checkpoint(_ tokens: [(name: String, token: String)], isReady: Bool) -> LiveMessage {
        let writer = JSONWriter(capacity: 64 + tokens.count * 128)
        writer.beginObject()
        writer.beginObject("subscriptions")
        for (name, token) in tokens {
            writer.key(name)
            writer.string(token)
        }
        writer.endObject()
        if isReady { writer.member("ready", true) }
        writer.endObject()
        return LiveMessage(.checkpoint, parameters: [writer.bytes], token: tokens.count == 1 ? tokens[0].token : nil)
    }

    /// `live:reset` of a subscription.
    ///
    /// - Parameters:
    ///   - token: the token from which it can resume, if known.
    ///   - pause: the pause before the client restarts it.
    static func reset(_ name: String, _ reason: LiveReset, token: String?, after pause: Duration?) -> LiveMessage {
        let writer = JSONWriter(capacity: 128)
        writer.beginObject()
        writer.member("subscription", name)
        writer.member("reason", reason.rawValue)
        if reason == .session { writer.member("code", ErrorCode.accessTokenNotAccepted.rawValue) }
        if let token { writer.member("token", token) }
        if let pause {
            writer.key("retry_after")
            let (seconds, attoseconds) = pause.components
            // To the millisecond.
            writer.number(Double(seconds) + Double(attoseconds / 1_000_000_000_000_000) / 1000)
        }
        writer.endObject()
        return LiveMessage(.reset, parameters: [writer.bytes])
    }

    private static let headBeginning = Array("{\"subscription\":".utf8)
    private static let headEnd = Array(",\"event\":\"".utf8)
    private static let recordKey = Array("\",\"record\":".utf8)
    private static let idKey = Array("\",\"id\":".utf8)
    private static let comma = [UInt8(ascii: ",")]
    private static let closingBrace = [UInt8(ascii: "}")]
    private static let closingList = Array("]}".utf8)
    private static let previousKey = Array(",\"previous\":".utf8)
}
