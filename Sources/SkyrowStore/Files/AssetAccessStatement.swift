internal import SkyrowModel
internal import SkyrowPostgres
internal import Synchronization

/// The statements that find out which files a caller may read or use.
///
/// A caller may read a file if it may read a record of the public database, or of its private one, in which it sees a field that
/// refers to the file. That is decided as for a fetch of the record: by the rules of its type, its access list, the rules of the
/// field and the scopes of the key.
///
/// ```sql
/// (SELECT true FROM "app"."note" AS "r" WHERE "r"."photo" BETWEEN $1 AND $1 AND (<read access>) ORDER BY "r"."photo" LIMIT 1) IS NOT NULL
/// ```
///
/// The operator may read every file; a server key with scopes reaches files through records alone, and those of private databases
/// only as the user that it acts for.
struct AssetAccessStatement {
    /// A table with columns of files, in the form for the caller.
    struct Source: Hashable {
        let table: RecordTable
        let shared: AccessShape
        /// nil if the caller has no private database.
        let own: AccessShape?
        /// Whether fields are visible in all records.
        let isUnrestricted: Bool

        static func == (a: Source, b: Source) -> Bool {
            a.table === b.table && a.shared == b.shared && a.own == b.own && a.isUnrestricted == b.isUnrestricted
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(table))
            hasher.combine(shared)
            hasher.combine(own)
        }
    }

    /// What determines the texts.
    struct Shape: Hashable {
        let sources: [Source]
        let isOperator: Bool
        /// Whether the caller may read the files that it uploaded. A key with scopes reaches files through records alone.
        let readsOwn: Bool
    }

    /// The columns of ``usable(_:)``.
    static let usableColumns = Columns(
        { (name: String, isMarked: Bool) in (name: name, isMarked: isMarked) },
        "asset.name",
        "asset.unreferenced_since IS NOT NULL"
    )

    private let shape: Shape
    /// The access whose values the parameters have, which are the same for both databases.
    private let access: RecordAccess
    private let texts: AssetAccessTexts

    init(for caller: Caller, _ catalog: SchemaCatalog, _ texts: AssetAccessTexts) {
        self.texts = texts
        let shared = RecordAccess(in: .everyone, for: .reading, by: caller)
        // Another user's database is never opened here, not even for a server key that may read private databases.
        let own = caller.userID == nil ? nil : try? RecordAccess(opening: .own, for: .reading, by: caller)
        access = own ?? shared
        var sources: [Source] = []
        if !caller.isOperator {
            let visible = catalog.visible(to: shared.fields)
            for name in catalog.fileTypes {
                guard let table = visible[name], table.holdsFiles, shared.mayRead(name) else { continue }
                sources.append(
                    Source(
                        table: table,
                        shared: shared.of(table.rules).read.shape,
                        own: own?.of(table.rules).read.shape,
                        isUnrestricted: shared.passesEveryRule
                    )
                )
            }
        }
        shape = Shape(sources: sources, isOperator: caller.isOperator, readsOwn: caller.key == nil)
    }

    /// Selects the columns of a file if the caller may read it; otherwise one row of NULLs, also for a name that no file has.
    func readable(_ name: AssetName) -> SQL {
        bind(texts.texts(of: shape).readable) { $0.append(name.rawValue) }
    }

    /// Selects those of some names that the caller may put into a record, of files that it uploaded or may read and of files
    /// without an uploader, and whether a look has marked them as unreferenced.
    func usable(_ names: [AssetName]) -> SQL {
        bind(texts.texts(of: shape).usable) { $0.append(names.map(\.rawValue)) }
    }

    private func bind(_ template: StatementTemplate, _ appendNames: (inout PostgresBindings) -> Void) -> SQL {
        template.binding { parameter, values in
            switch parameter {
            case .ids: appendNames(&values)
            default: access.append(parameter, to: &values)
            }
        }
    }
}

/// The texts of the statements about files, by what determines them.
final class AssetAccessTexts: Sendable {
    typealias Texts = (readable: StatementTemplate, usable: StatementTemplate)

    /// Upper bound on cached texts; a full cache is emptied, which costs least.
    private static let capacity = 256

    private let schema: SQLIdentifier
    private let known = Mutex<[AssetAccessStatement.Shape: Texts]>([:])

    init(schema: SQLIdentifier) {
        self.schema = schema
    }

    func texts(of shape: AssetAccessStatement.Shape) -> Texts {
        if let texts = known.withLock({ $0[shape] }) { return texts }
        let texts = (shape.readable(in: schema), shape.usable(in: schema))
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[shape] = texts
        }
        return texts
    }
}

extension AssetAccessStatement.Shape {
    /// Records are looked up before the file, and for a name that no file has, too.
    fileprivate func readable(in schema: SQLIdentifier) -> StatementTemplate {
        let isOwn: StatementTemplate = readsOwn ? " OR asset.owner = \(parameter: .actor)" : ""
        return """
            WITH open AS MATERIALIZED (SELECT \(isOpen("\(parameter: .ids)")) AS is_open) \
            SELECT \(StoredAsset.columns.list) FROM open LEFT JOIN \(schema.internal)._asset AS asset \
            ON asset.name = \(parameter: .ids) AND asset.state = 'stored' AND (open.is_open\(isOwn))
            """
    }

    fileprivate func usable(in schema: SQLIdentifier) -> StatementTemplate {
        """
        SELECT \(AssetAccessStatement.usableColumns.list) FROM \(schema.internal)._asset AS asset \
        WHERE asset.name = ANY(\(parameter: .ids)) AND asset.state = 'stored' \
        AND (asset.owner IS NULL OR asset.owner = \(parameter: .actor) OR \(isOpen("asset.name")))
        """
    }

    /// Whether the caller may read a record through which it sees the file of this name.
    private func isOpen(_ name: StatementTemplate) -> StatementTemplate {
        if isOperator { return "true" }
        let ways = sources.flatMap { source in
            source.table.columns.filter(\.holdsFile).map { source.isOpen($0, name) }
        }
        return ways.isEmpty ? "false" : "(\(ways.joined(separator: " OR ")))"
    }
}

extension AssetAccessStatement.Source {
    fileprivate func isOpen(_ column: RecordColumn, _ name: StatementTemplate) -> StatementTemplate {
        var condition = shared.condition(on: "r")
        if let own { condition = "(\(condition)) OR (\(own.condition(on: "r")))" }
        // With EXISTS and `=`, PostgreSQL reads a table from its start if all of its records refer to few files, also for a file that
        // no record refers to. An order that the index has makes the index cheaper.
        return """
            (SELECT true FROM \(table.qualifiedName) AS "r" \
            WHERE "r".\(column.identifier) BETWEEN \(name) AND \(name) AND (\(condition))\
            \(column.visibility(isUnrestricted: isUnrestricted)) ORDER BY "r".\(column.identifier) LIMIT 1) IS NOT NULL
            """
    }
}

extension RecordColumn {
    /// Whether its values are names of files.
    var holdsFile: Bool { type == .asset }

    /// Whether files may stand inside of its values.
    var holdsDocuments: Bool { type == .json }

    /// ` AND "r"."_owner" = $1`: the condition on the records in which the caller sees the field; nothing for all records.
    fileprivate func visibility(isUnrestricted: Bool) -> StatementTemplate {
        guard let reach, !isUnrestricted, !reach.isAlways else { return "" }
        return reach.isNever ? " AND false" : " AND \(reach.text(on: "r", of: .bound))"
    }
}

extension RecordTable {
    /// Whether it has fields with files.
    var holdsFiles: Bool { columns.contains(where: \.holdsFile) }
}

extension RecordAccess {
    /// Whether the key of the request reaches records of a type.
    fileprivate func mayRead(_ type: RecordTypeName) -> Bool { (try? requireReading(type)) != nil }
}

// MARK: Files inside of JSON

/// The statement that finds out which files a record names inside of its JSON fields or in its fields of files.
///
/// A name inside of JSON can be written by everyone who may write the record, whether or not they may read the file. So only a
/// file counts that the owner, the creator or the last editor of the record uploaded, or one without an uploader.
struct NestedAssetStatement {
    let sql: SQL

    /// - Parameter table: the table in the form for the caller.
    init(_ names: [AssetName], in id: RecordID, of table: RecordTable, with access: RecordAccess) {
        let isUnrestricted = access.passesEveryRule
        var ways = table.columns.filter(\.holdsFile).map { column -> StatementTemplate in
            "\"r\".\(column.identifier) = asset.name\(column.visibility(isUnrestricted: isUnrestricted))"
        }
        let documents = table.columns.filter(\.holdsDocuments).map { column -> StatementTemplate in
            """
            EXISTS (SELECT FROM jsonb_path_query("r".\(column.identifier), \(AssetReferences.path)) AS found (value) \
            WHERE found.value #>> '{}' = asset.name)\(column.visibility(isUnrestricted: isUnrestricted))
            """
        }
        if !documents.isEmpty {
            ways.append(
                """
                (asset.owner IS NULL OR asset.owner IN ("r"."_owner", "r"."_created_by", "r"."_updated_by")) \
                AND (\(documents.joined(separator: " OR ")))
                """
            )
        }
        let isNamed: StatementTemplate = ways.isEmpty ? "false" : ways.joined(separator: " OR ")
        let template: StatementTemplate = """
            SELECT \(StoredAsset.columns.list) FROM \(table.qualifiedName) AS "r" \
            LEFT JOIN \(table.schema.internal)._asset AS asset \
            ON asset.name = ANY(\(parameter: .wireIDs)) AND asset.state = 'stored' AND (\(isNamed)) \
            WHERE "r"."_id" = \(parameter: .ids) AND \(access.of(table.rules).read.shape.condition(on: "r"))
            """
        sql = template.binding { parameter, values in
            switch parameter {
            case .wireIDs: values.append(names.map(\.rawValue))
            case .ids: values.append(StoredID(id.id, in: access.database).text)
            default: access.append(parameter, to: &values)
            }
        }
    }
}
