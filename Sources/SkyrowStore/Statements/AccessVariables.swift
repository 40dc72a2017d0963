internal import SkyrowJSON
package import SkyrowModel

/// The caller's user and roles as JSON texts, which the access condition of a statement compares record lists with.
///
/// They are made once per caller and kept (``RecordAccessCache``), and PostgreSQL parses them only when a statement
/// meets a record whose list does not admit everyone anyway. Roles that could be taken for a number, a truth or another
/// JSON value are no keys, since the look-up is by text.
extension AccessVariables {
    package init(_ audience: AccessAudience) {
        let json = Self.object { writer in
            writer.key("u")
            writer.texts(audience.user.map { [$0.rawValue] } ?? [])
            writer.key("r")
            writer.texts(audience.roles.lazy.map(\.rawValue))
        }
        self.init(json: json, roleKeys: Self.isMany(audience.roles) ? Self.keys(audience.roles) : nil)
    }

    /// Fewer roles are compared faster than they are looked up.
    private static let fewRoles = 4

    /// Whether a caller's roles are looked up rather than compared one by one.
    static func isMany(_ roles: [RoleName]) -> Bool {
        roles.count > fewRoles
    }

    private static func keys(_ roles: [RoleName]) -> String {
        object { writer in
            for role in roles.lazy.map(\.rawValue) where !role.hasNUL && !role.looksLikeJSON {
                writer.key(role)
                writer.null()
            }
        }
    }

    private static func object(_ members: (JSONWriter) -> Void) -> String {
        let writer = JSONWriter(capacity: 128)
        writer.beginObject()
        members(writer)
        writer.endObject()
        return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

extension JSONWriter {
    /// Texts as an array. Those with NUL are left out: PostgreSQL holds none that equal them.
    fileprivate func texts(_ texts: some Sequence<String>) {
        beginArray()
        for text in texts where !text.hasNUL { string(text) }
        endArray()
    }
}

extension String {
    /// Whether the text may be that of a JSON value other than a string, as `->>` gives it.
    fileprivate var looksLikeJSON: Bool {
        guard let first = utf8.first else { return false }
        return "-0123456789[{".utf8.contains(first) || self == "true" || self == "false"
    }
}
