import CSQLFiles

/// One step on the way to the present schema: a script that runs in one transaction.
package struct Migration: Hashable, Sendable {
    package let version: Int
    /// The name of its file without the ending, `0001_initial`.
    package let name: String
    package let script: String
}

extension Migration {
    /// Every step, in order.
    ///
    /// The first one is `sql/schema.sql` until a release has created a database. From then on, it is a copy of that release's
    /// file in `sql/migrations`, the steps that follow are files beside it, and `schema.sql` stays the present.
    package static var all: [Migration] {
        [Migration(version: 1, name: "0001_initial", script: present)]
    }

    /// `sql/schema.sql`: what a new database gets in one step.
    package static var present: String { String(cString: skyrow_schema_sql()) }

    /// `sql/applications.sql`, which belongs to no application.
    package static var applications: String { String(cString: skyrow_applications_sql()) }
}
