package import SkyrowModel
internal import Synchronization

/// Who a caller is, as the JSON object that the access condition of a statement compares record lists with.
///
/// `{"u": ["<user id>"], "r": ["<role>", …]}`. It is made once per caller and kept (``AccessVariablesCache``), and
/// PostgreSQL parses it only when a statement meets a record whose list does not admit everyone anyway.
package struct AccessVariables: Hashable, Sendable {
    package let json: String

    package init(_ audience: AccessAudience) {
        var json = "{\"u\": ["
        json.appendJSON(strings: audience.user.map { [$0] } ?? [])
        json += "], \"r\": ["
        json.appendJSON(strings: audience.roles)
        json += "]}"
        self.json = json
    }
}

extension String {
    /// Appends texts as the elements of a JSON array. Texts with NUL are left out: PostgreSQL holds none that equal
    /// them.
    fileprivate mutating func appendJSON(strings: [String]) {
        var isFirst = true
        for string in strings where !string.utf8.contains(0) {
            if !isFirst { append(", ") }
            isFirst = false
            appendJSON(string: string)
        }
    }

    /// Appends text as a JSON string (RFC 8259, section 7).
    mutating func appendJSON(string: String) {
        append("\"")
        if string.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"": append("\\\"")
                case "\\": append("\\\\")
                case "\u{0}"..."\u{1F}":
                    let hexadecimal = String(scalar.value, radix: 16)
                    append("\\u" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal)
                default: unicodeScalars.append(scalar)
                }
            }
        } else {
            append(string)
        }
        append("\"")
    }
}

/// The access variables of callers with many roles, so that they are not made for every request.
package final class AccessVariablesCache: Sendable {
    private struct Entry {
        var roles: [String]
        var variables: AccessVariables
    }

    /// Fewer roles are written out faster than they are compared.
    private static let fewRoles = 4
    /// Beyond so many users the least work is to begin again.
    private static let capacity = 10_000

    private let entries = Mutex<[TextKey: Entry]>([:])

    package init() {}

    /// The variables of a caller; nil for one whom no list can name.
    package func variables(of caller: Caller) -> AccessVariables? {
        guard !caller.isMaster, let user = caller.userID else { return nil }
        let audience = AccessAudience(user: user, roles: caller.roles)
        guard caller.roles.count > Self.fewRoles else { return AccessVariables(audience) }
        let key = TextKey(user)
        if let known = entries.withLock({ $0[key] }), Self.areSame(known.roles, caller.roles) { return known.variables }
        let variables = AccessVariables(audience)
        entries.withLock { entries in
            if entries.count >= Self.capacity { entries.removeAll(keepingCapacity: true) }
            entries[key] = Entry(roles: caller.roles, variables: variables)
        }
        return variables
    }
    /// The session cache hands out the same array again and again, which is recognised by its memory.
    private static func areSame(_ a: [String], _ b: [String]) -> Bool {
        let isOneArray = a.withUnsafeBufferPointer { a in b.withUnsafeBufferPointer { a.baseAddress == $0.baseAddress }
        }
        return a.count == b.count && (isOneArray || a.elementsEqual(b, by: { $0.isSameText(as: $1) }))
    }
}
