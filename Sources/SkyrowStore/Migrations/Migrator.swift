/// Decides what a database needs before this version of Skyrow may use it.
package struct Migrator: Sendable {
    /// The work of one transaction.
    package enum Step: Hashable, Sendable {
        /// Run `schema.sql` in a database without reserved tables, and record all versions.
        case install
        case migrate(Migration)
        /// The database was restored from a dump, maybe into another cluster, whose transaction ids are smaller.
        case rebaseRevisions
        /// PostgreSQL was restarted since the last of these steps, or replaced by another server: transaction ids may be
        /// reused.
        case moveRevisions
        /// Create the event triggers that detect changes made with psql.
        case installEventTriggers
    }

    /// The observed state of a database.
    package struct DatabaseState: Hashable, Sendable {
        /// The recorded versions; nil if there are no reserved tables.
        package var versions: Set<Int>?
        /// Whether the revisions were assigned in this cluster and this database.
        package var isHomeCluster: Bool
        /// Whether PostgreSQL was restarted since they were assigned.
        package var hasRestarted: Bool
        /// Whether event triggers are missing that this role could create.
        package var lacksEventTriggers: Bool
        /// The value of `server_encoding`.
        package var encoding: String
        /// Whether the reserved tables are among the record tables, as in builds before the first release.
        package var isOld: Bool
        /// Without reserved tables: the reserved names in the schema of the records, and all names in that of reserved tables.
        package var strangers: [String]

        package init(
            versions: Set<Int>?,
            isHomeCluster: Bool = true,
            hasRestarted: Bool = false,
            lacksEventTriggers: Bool = false,
            encoding: String = "UTF8",
            isOld: Bool = false,
            strangers: [String] = []
        ) {
            self.versions = versions
            self.isHomeCluster = isHomeCluster
            self.hasRestarted = hasRestarted
            self.lacksEventTriggers = lacksEventTriggers
            self.encoding = encoding
            self.isOld = isOld
            self.strangers = strangers
        }
    }

    package let migrations: [Migration]

    package init(migrations: [Migration] = Migration.all) {
        self.migrations = migrations
    }

    /// The version of an up-to-date database.
    package var latestVersion: Int { migrations.map(\.version).max() ?? 0 }

    /// Returns the pending steps in order; empty for an up-to-date database.
    ///
    /// Throws ``MigrationError`` when the database is newer than this version of Skyrow, was created before the first release,
    /// is not in UTF-8, or has other objects in place of the reserved tables.
    package func steps(for state: DatabaseState) throws(MigrationError) -> [Step] {
        guard state.encoding == "UTF8" else { throw .databaseIsNotUTF8(encoding: state.encoding) }
        guard !state.isOld else { throw .databaseIsOld }
        guard let versions = state.versions else {
            guard state.strangers.isEmpty else { throw .schemaIsTaken(state.strangers) }
            return [.install]
        }
        if let newest = versions.max(), newest > latestVersion {
            throw .databaseIsNewer(version: newest, supported: latestVersion)
        }
        var steps: [Step] = migrations.filter { !versions.contains($0.version) }.map { .migrate($0) }
        if !state.isHomeCluster {
            steps.append(.rebaseRevisions)
        } else if state.hasRestarted {
            steps.append(.moveRevisions)
        }
        if state.lacksEventTriggers { steps.append(.installEventTriggers) }
        return steps
    }
}

/// Why a database cannot be brought up to date.
package enum MigrationError: Error, Hashable, Sendable, CustomStringConvertible {
    case databaseIsNewer(version: Int, supported: Int)
    case databaseIsNotUTF8(encoding: String)
    /// The reserved tables are among the record tables, as in builds before the first release.
    case databaseIsOld
    /// These objects have reserved names, or are in the schema of the reserved tables.
    case schemaIsTaken([String])

    package var description: String {
        switch self {
        case .databaseIsNewer(let version, let supported):
            """
            The database is at schema version \(version), and this skyrow supports versions up to \(supported): \
            run a newer skyrow, or restore a dump of a supported version.
            """
        case .databaseIsNotUTF8(let encoding):
            """
            The encoding of the database is \(encoding), and skyrow requires UTF8: create another database with \
            CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0.
            """
        case .databaseIsOld:
            """
            The database was created by a build before the first release, which kept its own tables among those of the records: \
            export the records with that build (skyrow export) and import them with this one (skyrow import) into a new database.
            """
        case .schemaIsTaken(let names):
            """
            The schema of skyrow's own tables has other objects (\(names.prefix(5).joined(separator: ", "))\
            \(names.count > 5 ? ", …" : "")): rename them, or give the application another schema.
            """
        }
    }
}
