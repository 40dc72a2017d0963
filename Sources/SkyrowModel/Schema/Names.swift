/// The name of a record type, which is the name of its table: `[A-Za-z][A-Za-z0-9_]{0,62}`.
public struct RecordTypeName: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: String

    /// Throws `108 InvalidArgument` when the text is not a name.
    public init(_ text: String) throws(SkyrowError) {
        guard isRecordName(text) else {
            if text == Self.role.rawValue { throw .rolesAreReadOnly }
            throw .invalidArgument(
                "A record type name must be a letter followed by at most 62 letters, digits or underscores.",
                "record_type"
            )
        }
        rawValue = text
    }

    private init(known: String) {
        rawValue = known
    }

    /// Parses the type of records that are read, which may also be ``role``.
    package init(readable text: String) throws(SkyrowError) {
        if text == Self.role.rawValue { self = .role } else { try self.init(text) }
    }

    /// The profiles of accounts; always in the public database.
    public static let user = RecordTypeName(known: "user")

    /// The roles, which only `record:query` and `record:fetch` read as records.
    public static let role = RecordTypeName(known: "_role")

    public static func < (a: RecordTypeName, b: RecordTypeName) -> Bool {
        a.rawValue < b.rawValue
    }

    public var description: String { rawValue }
}

/// The name of a field of a record type, which is the name of its column: `[A-Za-z][A-Za-z0-9_]{0,62}`, `_parent` or `_verified`.
public struct FieldName: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: String

    /// Throws `108 InvalidArgument` when the text is not a name.
    public init(_ text: String) throws(SkyrowError) {
        guard isRecordName(text) || text == Self.parent.rawValue || text == Self.verified.rawValue else {
            throw .invalidArgument(
                "A field name must be a letter followed by at most 62 letters, digits or underscores."
            )
        }
        rawValue = text
    }

    private init(known: String) {
        rawValue = known
    }

    /// The reference to the record that a record belongs to and is deleted with, with the rule `cascade`.
    public static let parent = FieldName(known: "_parent")

    /// Whether the address of a profile is verified, which only the service writes.
    public static let verified = FieldName(known: "_verified")

    /// Whether it is a reserved name, to which rules of every field do not apply.
    package var isReserved: Bool { rawValue.utf8.first == UInt8(ascii: "_") }

    public static func < (a: FieldName, b: FieldName) -> Bool {
        a.rawValue < b.rawValue
    }

    public var description: String { rawValue }
}

/// True for `[A-Za-z][A-Za-z0-9_]{0,62}`; 63 bytes is PostgreSQL's limit for an identifier.
private func isRecordName(_ text: String) -> Bool {
    text.withBytes { bytes in
        guard let first = bytes.first, bytes.count <= 63, isLetter(first) else { return false }
        return bytes.allSatisfy {
            isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
        }
    }
}

private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}

extension SkyrowError {
    /// `111` for roles in place of records that are written, followed or referred to.
    package static let rolesAreReadOnly = SkyrowError(
        .notSupported,
        """
        As records, roles can only be read, by record:query and record:fetch; role:save, role:delete, role:add and role:remove \
        change them.
        """
    )
}
