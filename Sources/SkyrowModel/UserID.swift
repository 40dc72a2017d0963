/// The id of an account, of its `user` record and of its private database.
///
/// Two ids are the same when their bytes are, as in PostgreSQL, whatever their Unicode normalisation. Any text makes one,
/// since psql may have written any; a request's texts are checked where they enter.
///
/// ```swift
/// let ann: UserID = "ann"
/// UserID("\u{E9}") == UserID("e\u{301}")  // false
/// ```
public struct UserID: Hashable, Comparable, Sendable {
    private let key: TextKey

    public init(_ text: String) {
        key = TextKey(text)
    }

    public var rawValue: String { key.text }

    /// The order of their bytes, as PostgreSQL's.
    public static func < (a: UserID, b: UserID) -> Bool {
        a.key < b.key
    }
}

extension UserID: CustomStringConvertible, ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String { rawValue }
}

/// The name of a role, which is assigned to users and named in access lists.
///
/// Two names are the same when their bytes are, as with ``UserID``.
public struct RoleName: Hashable, Comparable, Sendable {
    private let key: TextKey

    public init(_ text: String) {
        key = TextKey(text)
    }

    public var rawValue: String { key.text }

    /// The order of their bytes, as PostgreSQL's.
    public static func < (a: RoleName, b: RoleName) -> Bool {
        a.key < b.key
    }
}

extension RoleName: CustomStringConvertible, ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String { rawValue }
}

/// A tag of users, which access lists and rules may name.
///
/// Two groups are the same when their bytes are, as with ``UserID``.
public struct GroupName: Hashable, Comparable, Sendable {
    private let key: TextKey

    public init(_ text: String) {
        key = TextKey(text)
    }

    public var rawValue: String { key.text }

    /// The order of their bytes, as PostgreSQL's.
    public static func < (a: GroupName, b: GroupName) -> Bool {
        a.key < b.key
    }
}

extension GroupName: CustomStringConvertible, ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String { rawValue }
}

/// The name of a key with scopes, which access lists and rules may name. Several keys may have one.
///
/// Two names are the same when their bytes are, as with ``UserID``.
public struct KeyName: Hashable, Comparable, Sendable {
    private let key: TextKey

    public init(_ text: String) {
        key = TextKey(text)
    }

    public var rawValue: String { key.text }

    /// The order of their bytes, as PostgreSQL's.
    public static func < (a: KeyName, b: KeyName) -> Bool {
        a.key < b.key
    }
}

extension KeyName: CustomStringConvertible, ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String { rawValue }
}
