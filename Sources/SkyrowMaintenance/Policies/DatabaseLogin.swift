package import SkyrowModel
package import SkyrowPostgres

/// A role of PostgreSQL and the user whose records it works with: `ann_sql=ann`.
package struct DatabaseLogin: Hashable, Sendable {
    package var role: SQLIdentifier
    package var user: UserID

    package init(role: SQLIdentifier, user: UserID) {
        self.role = role
        self.user = user
    }

    /// Reads `ann_sql=ann`; nil for a text without a role or a user.
    ///
    /// ```swift
    /// DatabaseLogin("ann_sql=ann")?.user   // ann
    /// ```
    package init?(_ text: String) {
        // A user id may have an equals sign, and a role as good as never does.
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let role = try? SQLIdentifier(String(parts[0])) else { return nil }
        self.init(role: role, user: UserID(String(parts[1])))
    }
}
