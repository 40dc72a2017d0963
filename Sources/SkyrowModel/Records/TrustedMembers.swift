/// The members of a draft that hooks have set, which are written with the rights of the master key instead of the caller's.
package struct TrustedMembers: Hashable, Sendable {
    package var fields: Set<FieldName>
    package var hasAccess: Bool

    package init(fields: Set<FieldName>, hasAccess: Bool) {
        self.fields = fields
        self.hasAccess = hasAccess
    }
}
