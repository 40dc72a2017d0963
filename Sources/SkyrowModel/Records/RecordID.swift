/// The identity of a record within its database, `"note/9"` on the wire.
///
/// The part after the first slash is the record's id and may contain slashes. It is 1 to 255 bytes, contains no NUL, and does
/// not begin with `~`, which marks the stored ids of private rows.
public struct RecordID: Hashable, Sendable, CustomStringConvertible {
    public let type: RecordTypeName
    public let id: String

    /// Throws `108 InvalidArgument` when `id` is empty, longer than 255 bytes, contains NUL or begins with `~`.
    public init(type: RecordTypeName, id: String) throws(SkyrowError) {
        guard id.isName, id.utf8.first != UInt8(ascii: "~") else {
            throw .invalidArgument("A record id must be 1 to 255 bytes without NUL and must not begin with '~'.", "id")
        }
        self.type = type
        self.id = id
    }

    /// Parses `"type/id"`; throws `108 InvalidArgument` for anything else, and `111 NotSupported` for the id of a role.
    public init(_ text: String) throws(SkyrowError) {
        try self.init(text, isReadable: false)
    }

    /// Parses the id of a record that is read, which may be a role.
    package init(readable text: String) throws(SkyrowError) {
        try self.init(text, isReadable: true)
    }

    private init(_ text: String, isReadable: Bool) throws(SkyrowError) {
        var text = text
        let result = text.withUTF8 { utf8 in
            Result { () throws(SkyrowError) in
                try RecordID(utf8: UnsafeRawBufferPointer(utf8), isReadable: isReadable)
            }
        }
        self = try result.get()
    }

    /// Parses the UTF-8 of `"type/id"`.
    ///
    /// - Parameter isReadable: whether the record is only read, so that it may be a role.
    package init(utf8: UnsafeRawBufferPointer, isReadable: Bool = false) throws(SkyrowError) {
        guard let slash = utf8.firstIndex(of: UInt8(ascii: "/")) else {
            throw .invalidArgument("A record id must have the form \"type/id\".", "id")
        }
        let type = String(decoding: utf8[..<slash], as: UTF8.self)
        try self.init(
            type: isReadable ? RecordTypeName(readable: type) : RecordTypeName(type),
            id: String(decoding: utf8[(slash + 1)...], as: UTF8.self)
        )
    }

    /// True for `"post/$1"`, a name that is valid within one request and replaced by a fresh id everywhere in it.
    public var isTemporary: Bool { id.utf8.first == UInt8(ascii: "$") }

    public var description: String { "\(type)/\(id)" }

    /// Ids are equal when their bytes are, as in PostgreSQL, regardless of Unicode normalization.
    public static func == (a: RecordID, b: RecordID) -> Bool {
        a.type == b.type && a.id.isSameText(as: b.id)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(TextKey(id))
    }
}
