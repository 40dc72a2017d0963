/// An id or name that is compared by its bytes: ``UserID``, ``RoleName``, ``GroupName`` and the names of keys.
///
/// Two are equal when their bytes are, as in PostgreSQL, regardless of Unicode normalization. Any text is accepted, since psql
/// may have written any; the texts of a request are checked when they are read.
///
/// ```swift
/// let ann: UserID = "ann"
/// UserID("\u{E9}") == UserID("e\u{301}")  // false
/// ```
///
/// `Kind` distinguishes ids and names of different kinds at compile time.
public struct TextIdentity<Kind>: Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByStringInterpolation
{
    @usableFromInline let key: TextKey

    @inlinable
    public init(_ text: String) {
        key = TextKey(text)
    }

    @inlinable
    public init(stringLiteral text: String) {
        self.init(text)
    }

    @inlinable public var rawValue: String { key.text }

    public var description: String { rawValue }

    @inlinable
    public static func == (a: TextIdentity, b: TextIdentity) -> Bool {
        a.key == b.key
    }

    /// Orders by bytes, as PostgreSQL does.
    @inlinable
    public static func < (a: TextIdentity, b: TextIdentity) -> Bool {
        a.key < b.key
    }

    @inlinable
    public func hash(into hasher: inout Hasher) {
        key.hash(into: &hasher)
    }
}

/// The kinds of ids and names for ``TextIdentity``.
public enum IdentityKind {
    /// Ids of accounts.
    public enum User {}
    /// Names of roles.
    public enum Role {}
    /// Tags of users.
    public enum Group {}
    /// Names of keys with scopes.
    public enum Key {}
}

/// The id of an account, of its `user` record and of its private database.
public typealias UserID = TextIdentity<IdentityKind.User>

extension UserID {
    /// Whether an account can have the id, which names its private database: 1 to 255 bytes without NUL and slash, the first one
    /// neither `_` nor `~`.
    package var fitsAccount: Bool {
        let first = rawValue.utf8.first
        return rawValue.isName && first != UInt8(ascii: "_") && first != UInt8(ascii: "~")
            && !rawValue.utf8.contains(UInt8(ascii: "/"))
    }
}

/// The name of a role, which is assigned to users and named in access lists.
public typealias RoleName = TextIdentity<IdentityKind.Role>

/// A tag of users, which access lists and rules may name.
public typealias GroupName = TextIdentity<IdentityKind.Group>

/// The name of a key with scopes, which access lists and rules may name. Several keys may share a name.
public typealias KeyName = TextIdentity<IdentityKind.Key>
