package import SkyrowModel
package import SkyrowPostgres

/// A PostgreSQL role and the user as whom it accesses records: `ann_sql=ann`.
package struct DatabaseLogin: Hashable, Sendable {
    package var role: SQLIdentifier
    package var user: UserID

    package init(role: SQLIdentifier, user: UserID) {
        self.role = role
        self.user = user
    }

    /// Parses `ann_sql=ann`; nil if the role or the user is missing.
    ///
    /// ```swift
    /// DatabaseLogin("ann_sql=ann")?.user   // ann
    /// ```
    package init?(_ text: String) {
        // User ids may contain an equals sign; roles practically never do.
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let role = try? SQLIdentifier(String(parts[0])) else { return nil }
        self.init(role: role, user: UserID(String(parts[1])))
    }
}
