extension String {
    /// Whether two names or ids have the same bytes, as PostgreSQL compares them.
    ///
    /// `==` would also equate texts that differ only in Unicode normalization, and so confuse two users.
    package func isSameText(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return other.withBytes { isSameText(as: UnsafeRawBufferPointer($0)) }
    }

    /// Compares with a name or id in UTF-8.
    package func isSameText(as other: UnsafeRawBufferPointer) -> Bool {
        guard utf8.count == other.count else { return false }
        return withBytes { bytes in
            // `elementsEqual` takes several times as long.
            for index in bytes.indices where bytes[index] != other[index] { return false }
            return true
        }
    }

    /// Whether the text contains NUL, which PostgreSQL cannot store.
    package var hasNUL: Bool { withBytes { $0.contains(0) } }

    /// Lends the UTF-8 bytes as one buffer, which is read many times faster than the text byte by byte.
    @inlinable
    package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8(body)
    }

    /// Whether the text has 1 to 255 bytes and no NUL: the rule for record ids, user ids, names of roles and values of login
    /// keys, some of which have further rules.
    package var isName: Bool { (1...AccessList.maximumNameLength).contains(utf8.count) && !hasNUL }
}

/// A key whose identity is the bytes of a name or id, as in PostgreSQL.
@usableFromInline
package struct TextKey: Hashable, Comparable, Sendable {
    @usableFromInline package let text: String

    @inlinable
    package init(_ text: String) {
        self.text = text
    }

    @usableFromInline
    package static func == (a: TextKey, b: TextKey) -> Bool {
        a.text.isSameText(as: b.text)
    }

    @usableFromInline
    package static func < (a: TextKey, b: TextKey) -> Bool {
        a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}
