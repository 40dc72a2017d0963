/// The id of a row as its `_id` column holds it: `9` for a public record, `~<user id>/9` for a private one.
///
/// One column stays the primary key while each database has ids of its own. The wire id begins after
/// the first slash: no user id that names a private database holds one, which the tables check (`_database_fits`).
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
        case .user(let user): "~\(user.rawValue)/"
        }
    }

    /// Whether it is the stored id of a private record.
    package static func isPrivate(_ stored: UnsafeRawBufferPointer) -> Bool {
        stored.first == UInt8(ascii: "~")
    }

    /// The part of a stored id that clients see.
    package static func wireID(of stored: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard stored.first == UInt8(ascii: "~"), let slash = stored.firstIndex(of: UInt8(ascii: "/")) else {
            return stored
        }
        return UnsafeRawBufferPointer(rebasing: stored[(slash + 1)...])
    }

    /// The same for text.
    package static func wireID(of stored: String) -> String {
        let utf8 = stored.utf8
        guard utf8.first == UInt8(ascii: "~"), let slash = utf8.firstIndex(of: UInt8(ascii: "/")) else { return stored }
        return String(stored[utf8.index(after: slash)...])
    }
}
