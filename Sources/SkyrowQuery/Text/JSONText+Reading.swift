internal import SkyrowJSON
package import SkyrowModel

extension JSONText {
    /// Upper bound on the nesting depth of a stored value; clients can send less.
    private static let depthLimit = 512

    /// Calls `body` with the parsed value; nil for a text that is nested too deep.
    func withValue<Result>(_ body: (JSONView) -> Result) -> Result? {
        utf8.withUnsafeBytes { try? JSONDocument.read($0, depthLimit: Self.depthLimit, body) }
    }

    /// The value's identity for equality; nil for a text that is nested too deep.
    var identity: JSONIdentity? { withValue { JSONIdentity($0) } }

    /// Whether it is neither array nor object.
    package var isScalar: Bool { withValue { !$0.isArray && !$0.isObject } ?? false }

    /// The string value; nil for other values.
    package var string: String? { withValue { $0.string } ?? nil }

    /// Whether the value is an array with this string as an element, an object with this key, or the string itself:
    /// PostgreSQL's `jsonb ? text`.
    func holds(_ text: String) -> Bool {
        withValue { json in
            if json.isString { return json.string?.isSameText(as: text) ?? false }
            return json.elements.contains { $0.string?.isSameText(as: text) ?? false }
                || json.members.contains { $0.key.string?.isSameText(as: text) ?? false }
        } ?? false
    }

    /// Returns the value at a path; nil if it is missing or `null`.
    func value(at steps: [String]) -> JSONText? {
        withValue { root in
            var value = root
            for step in steps {
                guard let next = value.value(at: step) else { return nil }
                value = next
            }
            return value.isNull ? nil : value.jsonText
        } ?? nil
    }
}

extension JSONView {
    /// Returns the member of this name, or the array element at this index.
    fileprivate func value(at step: String) -> JSONView? {
        if isArray {
            guard let number = Int(step), number >= 0, number < count else { return nil }
            return elements.dropFirst(number).first { _ in true }
        }
        var found: JSONView?
        for (key, value) in members where key.string?.isSameText(as: step) ?? false { found = value }
        return found
    }
}

extension JSONView {
    /// Upper bound on the bytes of an instant's text, as in the SQL function `_json_instant`; longer ones only have more
    /// digits, which would be rounded away.
    private static let maximumInstantBytes = 64

    /// The instant of the value: an RFC 3339 text with an offset, or a date in its typed form; nil for other values.
    var instant: Timestamp? {
        guard let text = isObject ? typedDate : string, text.utf8.count <= Self.maximumInstantBytes else { return nil }
        return try? Timestamp(rfc3339: text)
    }

    /// The text of `{"$type":"date","$date":"…"}`.
    private var typedDate: String? {
        guard value(at: "$type")?.string?.isSameText(as: "date") ?? false else { return nil }
        return value(at: "$date")?.string
    }
}
