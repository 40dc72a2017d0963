import SkyrowPostgres
import SkyrowStore

extension SQLIdentifier {
    /// The schemas of an application's records and of its reserved tables.
    var both: [SQLIdentifier] { [self, self.internal.identifier] }

    /// The names of both schemas, for `IN`.
    var bothNames: SQL { "(\(PostgresName(name)), \(PostgresName(self.internal.name)))" }
}
