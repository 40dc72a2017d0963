/// The id of a row as its `_id` column holds it: `9` for a public record, `~<user id>/9` for a private one.
///
/// One column remains the primary key although each database has separate ids. The wire id begins after the first slash: the id
/// of a user with a private database contains no slash, which the tables check (`_database_fits`).
package struct StoredID: Hashable, Sendable {
    package let text: String

    /// Creates the stored id of a record of the public or a private database; `_union` has no stored ids.
    package init(_ wireID: String, in database: DatabaseScope) {
        text = StoredID.prefix(of: database) + wireID
    }

    /// Returns the prefix of every stored id of a database.
    package static func prefix(of database: DatabaseScope) -> String {
        switch database {
        case .everyone, .union: ""
        case .user(let user): "~\(user.rawValue)/"
        }
    }

    /// Whether it is the stored id of a private record.
    package static func isPrivate(_ stored: UnsafeRawBufferPointer) -> Bool {
        stored.first == UInt8(ascii: "~")
    }

    /// Returns the part of a stored id that clients see.
    package static func wireID(of stored: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard stored.first == UInt8(ascii: "~"), let slash = stored.firstIndex(of: UInt8(ascii: "/")) else {
            return stored
        }
        return UnsafeRawBufferPointer(rebasing: stored[(slash + 1)...])
    }

    /// Returns the same for text.
    package static func wireID(of stored: String) -> String {
        let utf8 = stored.utf8
        guard utf8.first == UInt8(ascii: "~"), let slash = utf8.firstIndex(of: UInt8(ascii: "/")) else { return stored }
        return String(stored[utf8.index(after: slash)...])
    }
}
