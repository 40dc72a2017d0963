/// Decides what a database needs before this version of Skyrow may use it.
package struct Migrator: Sendable {
    /// What is to be done in one transaction.
    package enum Step: Hashable, Sendable {
        /// Run `schema.sql` in a database that has no reserved tables yet, and record all versions.
        case install
        case migrate(Migration)
        /// The database was restored from a dump, maybe into another cluster, whose transaction ids are smaller.
        case rebaseRevisions
        /// PostgreSQL was started anew since the last of these steps, or another server has taken its place: transaction ids
        /// may be given out a second time.
        case moveRevisions
        /// Create the event triggers that notice changes made in psql.
        case installEventTriggers
    }

    /// What a look at the database showed.
    package struct DatabaseState: Hashable, Sendable {
        /// The versions recorded; nil when there are no reserved tables.
        package var versions: Set<Int>?
        /// Whether the revisions were counted on this very cluster, and in this very database.
        package var isHomeCluster: Bool
        /// Whether they were counted since another start of PostgreSQL.
        package var hasRestarted: Bool
        /// Whether event triggers are missing that this role could create.
        package var lacksEventTriggers: Bool
        /// As `server_encoding` has it.
        package var encoding: String
        /// Whether it has the reserved tables among those of the records, as builds before the first release did.
        package var isOld: Bool
        /// Where there are no reserved tables: the reserved names in the schema of the records, and all names in the schema for these
        /// tables.
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

    /// The version of a database in which nothing is left to do.
    package var latestVersion: Int {
        migrations.map(\.version).max() ?? 0
    }

    /// The steps in their order, none for a database that is up to date.
    ///
    /// Throws ``MigrationError`` when the database is newer than this version of Skyrow, was made before the first release, cannot
    /// hold every text, or has something in the place of the reserved tables.
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
    /// Its reserved tables are among those of the records, where builds before the first release had them.
    case databaseIsOld
    /// These objects have names that are reserved, or are in the schema of the reserved tables.
    case schemaIsTaken([String])

    package var description: String {
        switch self {
        case .databaseIsNewer(let version, let supported):
            """
            The database is at schema version \(version), and this skyrow knows versions up to \(supported): \
            run a newer skyrow, or restore a dump that an older one can use.
            """
        case .databaseIsNotUTF8(let encoding):
            """
            The database is encoded in \(encoding), and skyrow needs UTF8: make another one with \
            CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0.
            """
        case .databaseIsOld:
            """
            The database was made by a build from before the first release, which kept its own tables among those of the records: \
            export the records with that build (skyrow export) and import them with this one (skyrow import) into a new database.
            """
        case .schemaIsTaken(let names):
            """
            There is something where skyrow keeps its own tables (\(names.prefix(5).joined(separator: ", "))\
            \(names.count > 5 ? ", …" : "")): rename it, or give the application another schema.
            """
        }
    }
}
