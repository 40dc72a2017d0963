extension String {
    /// Whether two names or ids are the same bytes, as PostgreSQL compares them.
    ///
    /// `==` would also equate texts that differ in Unicode normalisation, and so one user with another.
    package func isSameText(as other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }

    /// Whether it has 1 to 255 bytes and no NUL: the rule for record ids, user ids, names of roles and values of login
    /// keys, some of which ask for more.
    package var isName: Bool {
        let utf8 = utf8
        return (1...AccessList.maximumNameLength).contains(utf8.count) && !utf8.contains(0)
    }
}

/// A name or id as a key whose identity is its bytes, as in PostgreSQL.
package struct TextKey: Hashable, Comparable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (a: TextKey, b: TextKey) -> Bool {
        a.text.isSameText(as: b.text)
    }

    package static func < (a: TextKey, b: TextKey) -> Bool {
        a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}
