internal import SkyrowModel
internal import SkyrowPostgres

/// What a key path of a query stands for in its statement.
struct QueryColumn {
    /// What the column holds, which decides how it is compared.
    enum Kind: Hashable {
        case string
        case integer
        case number
        case boolean
        case datetime
        case json
        case bytes
        case reference(RecordTypeName)
        /// The id of the record itself.
        case id(RecordTypeName)
        /// The id of a user: `_owner_id`, `_created_by`, `_updated_by`.
        case user
        /// The name of the database.
        case database
        /// The access list.
        case access
        case unknown
    }

    /// `"r"."title"`
    var sql: SQL
    var kind: Kind
    var path: KeyPath
    /// The forms in which the column holds an id that clients see, when it holds one.
    var ids: StoredIDForms = .plain

    /// The type of the records that the column refers to; nil for what is no reference.
    var target: RecordTypeName? {
        switch kind {
        case .reference(let type): type
        case .user: .user
        case .string, .integer, .number, .boolean, .datetime, .json, .bytes, .id, .database, .access, .unknown: nil
        }
    }
}

/// How the ids that clients see are stored in a column.
enum StoredIDForms: Hashable {
    /// All as they are: ids of public records.
    case plain
    /// All behind a prefix: ids of the records of one private database.
    case prefixed(String)
    /// Behind this prefix or as they are: what a private record refers to.
    case either(String)
    /// Behind any prefix or none, in `_union`.
    case any
}

/// The names a query may use, and the referenced records that its statement joins for them.
///
/// A path through a reference joins the referenced record by its primary key, so that rows never multiply, and by the
/// condition that the caller may read it: a forbidden record is as one that is missing, and all its fields are NULL.
/// Catalogue and root are those that the caller sees (``SchemaCatalog/visible(to:)``). A field that owners alone see is
/// NULL in the records of others.
///
/// ```sql
/// LEFT JOIN "app"."category" AS "j1" ON "j1"."_id" = "r"."category" AND <access>
/// ```
struct QueryNames {
    /// So many records may be joined to one.
    static let maximumJoins = 16

    let catalog: SchemaCatalog
    let root: RecordTable
    let scope: DatabaseScope
    private let caller: Caller
    private let variables: AccessVariables?
    private(set) var joins: [Join] = []

    struct Join {
        /// The reference or reserved name that leads to the record.
        let name: String
        let table: RecordTable
        let alias: SQLIdentifier
        let sql: SQL
    }

    init(
        catalog: SchemaCatalog,
        root: RecordTable,
        scope: DatabaseScope,
        caller: Caller,
        variables: AccessVariables?
    ) {
        self.catalog = catalog
        self.root = root
        self.scope = scope
        self.caller = caller
        self.variables = variables
    }

    /// The column of a path of one or two components.
    ///
    /// Throws `120 RecordQueryInvalid` for a name that does not exist, a path through what is no reference, and a path
    /// of three or more components; `124 RecordQueryDenied` for a field that is hidden from the caller.
    mutating func column(_ path: KeyPath) throws(SkyrowError) -> QueryColumn {
        switch path.components.count {
        case 1:
            return try column(
                path.components[0],
                of: root,
                as: "r",
                ids: rootIDForms,
                references: targetIDForms,
                path
            )
        case 2:
            let join = try join(path.components[0], for: path)
            return try column(
                path.components[1],
                of: join.table,
                as: join.alias,
                ids: targetIDForms,
                references: targetIDForms,
                path
            )
        default:
            throw .recordQueryInvalid("A key path has at most two components.", path)
        }
    }

    /// Whether a path of one component is a reference to records that there may be; false for an unknown name.
    ///
    /// Throws `124 RecordQueryDenied` for a field that is hidden from the caller.
    func isReference(_ path: KeyPath) throws(SkyrowError) -> Bool {
        do {
            let column = try self.column(
                path.components[0],
                of: root,
                as: "r",
                ids: rootIDForms,
                references: targetIDForms,
                path
            )
            return column.target.map { catalog[$0] != nil } ?? false
        } catch {
            guard error.code == .recordQueryInvalid else { throw error }
            return false
        }
    }

    /// Joins the record that a reference of the type leads to, once.
    mutating func join(_ name: String, for path: KeyPath) throws(SkyrowError) -> Join {
        let reference = try column(name, of: root, as: "r", ids: rootIDForms, references: targetIDForms, path)
        guard let target = reference.target else {
            throw .recordQueryInvalid("A key path may lead through references only.", path)
        }
        if let known = joins.first(where: { $0.name == name }) { return known }
        guard let table = catalog[target] else {
            throw .recordQueryInvalid("The type of the reference does not exist.", path)
        }
        guard joins.count < Self.maximumJoins else {
            throw .recordQueryInvalid("A query may follow at most \(Self.maximumJoins) references.", path)
        }
        let alias = Self.aliases[joins.count]
        let sql: SQL = """
            LEFT JOIN \(table.qualifiedName) AS \(alias) \
            ON \(alias)."_id" = \(reference.sql) AND \(readCondition(on: alias))
            """
        let join = Join(name: name, table: table, alias: alias, sql: sql)
        joins.append(join)
        return join
    }

    private static let aliases: [SQLIdentifier] = [
        "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9", "j10", "j11", "j12", "j13", "j14", "j15", "j16",
    ]

    /// Which records a reference may lead to: public ones as their lists allow, and those of the same private database.
    private func readCondition(on alias: SQLIdentifier) -> SQL {
        switch scope {
        case .union:
            return AccessScope(caller: caller, level: .read, database: .union).condition(on: alias, variables: nil)
        case .everyone:
            return AccessScope(caller: caller, level: .read, database: .everyone)
                .condition(on: alias, variables: variables)
        case .user:
            let own = AccessScope(caller: caller, level: .read, database: scope)
                .condition(on: alias, variables: variables)
            let shared = AccessScope(caller: caller, level: .read, database: .everyone)
                .condition(on: alias, variables: variables)
            return "(\(own) OR \(shared))"
        }
    }

    private var rootIDForms: StoredIDForms {
        switch scope {
        case .everyone: .plain
        case .user: .prefixed(StoredID.prefix(of: scope))
        case .union: .any
        }
    }

    private var targetIDForms: StoredIDForms {
        switch scope {
        case .everyone: .plain
        case .user: .either(StoredID.prefix(of: scope))
        case .union: .any
        }
    }

    private func column(
        _ name: String,
        of table: RecordTable,
        as alias: SQLIdentifier,
        ids: StoredIDForms,
        references: StoredIDForms,
        _ path: KeyPath
    ) throws(SkyrowError) -> QueryColumn {
        if let (reserved, kind) = Self.reservedColumn(name, of: table) {
            return QueryColumn(sql: "\(alias).\(reserved.identifier)", kind: kind, path: path, ids: ids)
        }
        guard let field = try? FieldName(name), let column = table[field] else {
            if let field = try? FieldName(name), table.hidden.contains(field) {
                throw .recordQueryDenied(path.description)
            }
            throw .recordQueryInvalid("There is no such field in this record type.", path)
        }
        var sql: SQL = "\(alias).\(column.identifier)"
        if table.rules.isVisibleToOwnersOnly(field, caller: caller) {
            // As absent from the records of others, whatever is asked about it.
            guard let user = caller.userID else { throw .recordQueryDenied(path.description) }
            sql = "(CASE WHEN \(alias).\"_owner\" = \(user) THEN \(sql) END)"
        }
        return QueryColumn(sql: sql, kind: .init(column.type), path: path, ids: references)
    }

    /// The names of Skygear's key paths, and those of the wire form and of the tables.
    private static func reservedColumn(_ name: String, of table: RecordTable) -> (ReservedColumn, QueryColumn.Kind)? {
        switch name {
        case "_id": (.id, .id(table.name))
        case "_owner", "_owner_id", "_ownerID": (.owner, .user)
        case "_created_at": (.createdAt, .datetime)
        case "_created_by": (.createdBy, .user)
        case "_updated_at": (.updatedAt, .datetime)
        case "_updated_by": (.updatedBy, .user)
        case "_revision": (.revision, .integer)
        case "_database", "_database_id": (.database, .database)
        case "_access": (.access, .access)
        default: nil
        }
    }
}

extension QueryColumn.Kind {
    init(_ type: FieldType) {
        switch type {
        case .string: self = .string
        case .integer, .sequence: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .datetime: self = .datetime
        case .json: self = .json
        case .reference(let target): self = .reference(target)
        case .bytes: self = .bytes
        case .unknown: self = .unknown
        }
    }
}

extension SkyrowError {
    static func recordQueryInvalid(_ message: String, _ path: KeyPath) -> SkyrowError {
        SkyrowError(.recordQueryInvalid, message, info: ["arguments": .list([.string(path.description)])])
    }

    /// `124` for a field that the caller does not see; `name` is a field or a key path.
    static func recordQueryDenied(_ name: String) -> SkyrowError {
        SkyrowError(
            .recordQueryDenied,
            "This field is not open to you, so a query cannot name it.",
            info: ["arguments": .list([.string(name)])]
        )
    }

    static func predicateInvalid(_ message: String, _ path: KeyPath? = nil) -> SkyrowError {
        SkyrowError(
            .invalidArgument,
            message,
            info: ["arguments": .list(([.string("predicate")] + (path.map { [.string($0.description)] } ?? [])))]
        )
    }
}
