package import SkyrowModel

/// The id of a row as its `_id` column holds it: `9` for a public record, `~<user id>/9` for a private one.
///
/// One column stays the primary key while each database has ids of its own (design.md 5.1). A `/` or `%` in a user id
/// is written `%2F` or `%25`, so that no two databases share a stored id and the wire id begins after the first slash.
package struct StoredID: Hashable, Sendable {
    package let text: String

    /// The stored id of a record of the public or a private database; `_union` has none of its own.
    package init(_ wireID: String, in database: DatabaseScope) {
        text = StoredID.prefix(of: database) + wireID
    }

    /// What stands before the wire id in every stored id of a database.
    package static func prefix(of database: DatabaseScope) -> String {
        switch database {
        case .everyone, .union: ""
        case .user(let user): "~\(escaped(user))/"
        }
    }

    /// The part of a stored id that clients see.
    package static func wireID(of stored: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard stored.first == UInt8(ascii: "~"), let slash = stored.firstIndex(of: UInt8(ascii: "/")) else { return stored }
        return UnsafeRawBufferPointer(rebasing: stored[(slash + 1)...])
    }

    /// The same for text.
    package static func wireID(of stored: String) -> String {
        let utf8 = stored.utf8
        guard utf8.first == UInt8(ascii: "~"), let slash = utf8.firstIndex(of: UInt8(ascii: "/")) else { return stored }
        return String(stored[utf8.index(after: slash)...])
    }

    private static func escaped(_ user: UserID) -> String {
        guard user.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%") }) else { return user }
        var result = ""
        for scalar in user.unicodeScalars {
            switch scalar {
            case "/": result += "%2F"
            case "%": result += "%25"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
