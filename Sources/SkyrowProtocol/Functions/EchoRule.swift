package import SkyrowJSON
package import SkyrowModel

/// What the runtimes of Skygear v1, py-skygear and the JavaScript SDK, make of a record that they get and send back.
///
/// Their decoders and encoders lose parts of values: py-skygear cuts an id at its second slash, JavaScript an instant to milliseconds
/// and a number to a double, and both drop members of files. A value that a hook did not touch comes back as such an echo.
package enum EchoRule {
    /// Whether a value of an answer is an echo of one that was sent.
    package static func isEcho(_ answer: JSONView, of sent: JSONView) -> Bool {
        switch (answer.kind, sent.kind) {
        case (.integer, .integer), (.integer, .number), (.number, .integer), (.number, .number):
            return JSONDecimal(answer) == JSONDecimal(sent) || JSONDecimal(answer) == rounded(sent)
        case (.array, .array):
            return answer.count == sent.count
                && zip(answer.elements, sent.elements).allSatisfy { isEcho($0, of: $1) }
        case (.object, .object):
            return isEcho(object: answer, of: sent)
        default:
            return answer.isSameValue(as: sent)
        }
    }

    /// Returns the number as a runtime prints it that has doubles only.
    private static func rounded(_ json: JSONView) -> JSONDecimal? {
        guard let double = Double(String(decoding: json.slice, as: UTF8.self)) else { return nil }
        return JSONDecimal(double)
    }

    private static func isEcho(object answer: JSONView, of sent: JSONView) -> Bool {
        guard let type = sent["$type"]?.string, types.contains(type) else {
            return haveEqualMembers(answer, sent) { isEcho($0, of: $1) }
        }
        guard answer["$type"]?.string == type else { return false }
        switch type {
        case "date":
            guard let found = instant(answer["$date"]), let given = instant(sent["$date"]) else { return false }
            return abs(found.microseconds - given.microseconds) < 1000
        case "ref":
            guard let found = answer["$id"]?.string, let given = sent["$id"]?.string else { return false }
            return found.isSameText(as: given) || found.isSameText(as: cut(given))
        case "asset":
            guard let found = answer["$name"]?.string, let given = sent["$name"]?.string else { return false }
            return found.isSameText(as: given)
        case "geo":
            guard let longitude = answer["$lng"], let latitude = answer["$lat"] else { return false }
            return sent["$lng"].map { isEcho(longitude, of: $0) } ?? false
                && sent["$lat"].map { isEcho(latitude, of: $0) } ?? false
        default:
            return true
        }
    }

    /// The types of values that the runtimes decode; objects of other types stay as they are.
    private static let types: Set<String> = ["date", "ref", "asset", "geo", "unknown", "record"]

    private static func haveEqualMembers(
        _ a: JSONView,
        _ b: JSONView,
        _ areEqual: (JSONView, JSONView) -> Bool
    ) -> Bool {
        let (members, others) = (a.uniqueMembers, b.uniqueMembers)
        guard members.count == others.count else { return false }
        func ordered(_ members: [(name: String, value: JSONView)]) -> [(name: String, value: JSONView)] {
            members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }
        return zip(ordered(members), ordered(others)).allSatisfy {
            $0.name.isSameText(as: $1.name) && areEqual($0.value, $1.value)
        }
    }

    /// Cuts an id at its second slash.
    private static func cut(_ id: String) -> String {
        let parts = id.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        return parts.prefix(2).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    // MARK: What can be sent

    /// Whether every runtime can decode and encode a value; one that it cannot makes the whole call fail.
    package static func isReadable(_ value: RecordValue) -> Bool {
        switch value {
        case .null, .sequence: false
        case .datetime(let instant): isReadable(instant)
        case .reference(let id): id.id.utf8.first != UInt8(ascii: "/")
        case .array(let elements): elements.allSatisfy { $0 == .null || isReadable($0) }
        case .json(let text):
            !text.utf8.contains(UInt8(ascii: "$"))
                || ((try? JSONDocument(text.utf8, depthLimit: .max))?.withRoot { isReadable($0) } ?? false)
        case .string, .integer, .number, .boolean, .bytes, .location, .geometry, .asset, .relation: true
        }
    }

    /// Whether py-skygear can decode and encode an instant: from the year 1 to 9999 in every time zone, and before 1970 whole
    /// seconds only.
    package static func isReadable(_ instant: Timestamp) -> Bool {
        guard instants.contains(instant.microseconds) else { return false }
        return instant.microseconds >= -Timestamp.unixEpochOffset || instant.microseconds % 1_000_000 == 0
    }

    /// From 0001-01-02 to 9999-12-30.
    private static let instants =
        microseconds(year: 1, month: 1, day: 2)...microseconds(year: 9999, month: 12, day: 30)

    private static func microseconds(year: Int, month: Int, day: Int) -> Int64 {
        Int64(daysFromEpoch(year: year, month: month, day: day)) * 86_400_000_000
    }

    static func isReadable(_ json: JSONView) -> Bool {
        isReadablePart(json) && json.descendants.allSatisfy { isReadablePart($0) }
    }

    private static func isReadablePart(_ json: JSONView) -> Bool {
        guard json.isObject, let type = json["$type"] else { return true }
        switch type.string {
        case "date": return instant(json["$date"]).map { isReadable($0) } ?? false
        case "ref":
            let parts = json["$id"]?.string?.utf8.split(
                separator: UInt8(ascii: "/"),
                maxSplits: 2,
                omittingEmptySubsequences: false
            )
            return parts.map { $0.count > 1 && !$0[0].isEmpty && !$0[1].isEmpty } ?? false
        case "asset": return json["$name"]?.string?.isEmpty == false
        case "geo":
            guard let longitude = json["$lng"]?.double, let latitude = json["$lat"]?.double else { return false }
            return Location(validLatitude: latitude, longitude: longitude) != nil
        case "unknown": return json["$underlying_type"]?.isString ?? false
        case "record": return false
        default: return true
        }
    }

    /// Reads an instant in the form that both runtimes read; nil for any other.
    private static func instant(_ json: JSONView?) -> Timestamp? {
        guard let text = json?.string, text.utf8.count >= 20, let instant = try? Timestamp(rfc3339: text) else {
            return nil
        }
        let bytes = Array(text.utf8)
        guard bytes[4] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"), !bytes.contains(UInt8(ascii: "z")),
            !bytes.withUnsafeBufferPointer({ Timestamp.isFinerThanMicroseconds($0) })
        else { return nil }
        return instant
    }
}
