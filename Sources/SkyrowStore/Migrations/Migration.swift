import CSQLFiles

/// One step towards the current schema: a script that runs in one transaction.
package struct Migration: Hashable, Sendable {
    package let version: Int
    /// The name of its file without the extension, `0001_initial`.
    package let name: String
    package let script: String
}

extension Migration {
    /// All steps, in order.
    ///
    /// The first is `sql/schema.sql` until a release has created databases. From then on it is a copy of that release's file in
    /// `sql/migrations`, later steps are files beside it, and `schema.sql` is the current schema.
    package static var all: [Migration] { [Migration(version: 1, name: "0001_initial", script: present)] }

    /// `sql/schema.sql`, the whole schema of a new database.
    package static var present: String { String(cString: skyrow_schema_sql()) }

    /// `sql/applications.sql`, which does not belong to a single application.
    package static var applications: String { String(cString: skyrow_applications_sql()) }
}
