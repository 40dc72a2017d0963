package import SkyrowModel
internal import Synchronization

/// The caller's user and roles as JSON texts, which the access condition of a statement compares record lists with.
///
/// They are made once per caller and kept (``AccessVariablesCache``), and PostgreSQL parses them only when a statement
/// meets a record whose list does not admit everyone anyway. Roles that could be taken for a number, a truth or another
/// JSON value are no keys, since the look-up is by text.
extension AccessVariables {
    package init(_ audience: AccessAudience) {
        var json = "{\"u\": ["
        json.appendJSON(strings: audience.user.map { [$0.rawValue] } ?? [])
        json += "], \"r\": ["
        json.appendJSON(strings: audience.roles.lazy.map(\.rawValue))
        json += "]}"
        self.init(json: json, roleKeys: Self.isMany(audience.roles) ? Self.keys(audience.roles) : nil)
    }

    /// Fewer roles are compared faster than they are looked up.
    private static let fewRoles = 4

    /// Whether a caller's roles are looked up rather than compared one by one.
    static func isMany(_ roles: [RoleName]) -> Bool {
        roles.count > fewRoles
    }

    /// The roles to look up in a statement that checks this many rows; nil where the comparison is the faster way.
    func roles(for rows: AccessScope.Rows) -> String? {
        switch rows {
        case .one: nil
        case .many: roleKeys
        }
    }

    private static func keys(_ roles: [RoleName]) -> String {
        var json = "{"
        for role in roles.lazy.map(\.rawValue) where !role.utf8.contains(0) && !role.looksLikeJSON {
            json += json.utf8.count > 1 ? ", " : ""
            json.appendJSON(string: role)
            json += ": null"
        }
        return json + "}"
    }
}

extension String {
    /// Whether the text may be that of a JSON value other than a string, as `->>` gives it.
    fileprivate var looksLikeJSON: Bool {
        guard let first = utf8.first else { return false }
        return "-0123456789[{".utf8.contains(first) || self == "true" || self == "false"
    }

    /// Appends texts as the elements of a JSON array. Texts with NUL are left out: PostgreSQL holds none that equal
    /// them.
    fileprivate mutating func appendJSON(strings: some Sequence<String>) {
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
        var roles: [RoleName]
        var variables: AccessVariables
    }

    /// Beyond this many users the least work is to begin again.
    private static let capacity = 10_000

    private let entries = Mutex<[UserID: Entry]>([:])

    package init() {}

    /// The variables of a user with these roles.
    package func variables(of user: UserID, roles: [RoleName]) -> AccessVariables {
        let audience = AccessAudience(user: user, roles: roles)
        guard AccessVariables.isMany(roles) else { return AccessVariables(audience) }
        if let known = entries.withLock({ $0[user] }), Self.areSame(known.roles, roles) { return known.variables }
        let variables = AccessVariables(audience)
        entries.withLock { entries in
            if entries.count >= Self.capacity { entries.removeAll(keepingCapacity: true) }
            entries[user] = Entry(roles: roles, variables: variables)
        }
        return variables
    }

    /// The session cache hands out the same array again and again, which is recognised by its memory.
    private static func areSame(_ a: [RoleName], _ b: [RoleName]) -> Bool {
        let isOneArray = a.withUnsafeBufferPointer { a in b.withUnsafeBufferPointer { a.baseAddress == $0.baseAddress }
        }
        return a.count == b.count && (isOneArray || a == b)
    }
}
