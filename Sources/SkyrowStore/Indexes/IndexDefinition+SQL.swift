package import SkyrowModel
package import SkyrowPostgres

/// What SQL generation for an index definition needs from the database.
package struct IndexSurroundings: Hashable, Sendable {
    /// The columns with a collation.
    package var texts: Set<String> = []
    /// The columns of type `geometry`.
    package var geometries: Set<String> = []
    /// The languages of text columns that have one.
    package var languages: [String: TextLanguage] = [:]
    /// The columns that store the words of texts, by the text columns.
    package var storedWords: [String: SQLIdentifier] = [:]
    /// The schema of the extension that the kind of index needs; nil without one.
    package var home: SQLIdentifier?
}

extension IndexDefinition {
    /// Returns the statement that builds the index concurrently with writes.
    package func creation(
        named name: SQLIdentifier,
        in schema: SQLIdentifier,
        _ surroundings: IndexSurroundings
    ) throws -> SQL {
        let table = try SchemaChange.table(type, schema)
        let unique: SQL = isUnique ? "UNIQUE " : ""
        let nulls: SQL = treatsNullsAsEqual ? " NULLS NOT DISTINCT" : ""
        let method: SQL =
            switch kind {
            case .order: "btree"
            case .contains, .trigram, .text: "gin"
            case .near, .box: "gist"
            }
        let keys = try keys(in: schema, surroundings).joined(separator: ", ")
        return "CREATE \(unique)INDEX CONCURRENTLY \(name) ON \(table) USING \(method) (\(keys))\(nulls)"
    }

    private func keys(in schema: SQLIdentifier, _ surroundings: IndexSurroundings) throws -> [SQL] {
        let columns = try fields.map { (field: $0, column: try SQLIdentifier($0.name)) }
        switch kind {
        case .order:
            var keys: [SQL] = isUnique ? ["_database COLLATE \"C\""] : []
            for (field, column) in columns {
                let isText =
                    field.isFolded || surroundings.texts.contains(field.name) || field.jsonType == .string
                let value = field.value(of: column, in: schema)
                let collation: SQL = isText ? " COLLATE \"C\"" : ""
                let direction: SQL = field.direction == .descending ? " DESC" : ""
                keys.append("\(value)\(collation)\(direction)")
            }
            // A query sorted by the last field continues by id in the same direction. Transactions write too few rows to need
            // that for revisions.
            if !isUnique, !isOfFollowedType {
                keys.append(fields.last?.direction == .descending ? "_id COLLATE \"C\" DESC" : "_id COLLATE \"C\"")
            }
            return keys
        case .contains, .near:
            return columns.map { "\($0.column)" }
        case .text:
            return columns.map { field, column in
                if let kept = surroundings.storedWords[field.name] { return "\(kept)" }
                return (surroundings.languages[field.name] ?? .words).words(of: "\(column)", in: schema)
            }
        case .trigram:
            let home = try surroundings.required
            return columns.map { field, column in
                // A pattern is compared in the collation of the column, and so is folded text.
                let value: SQL = field.isFolded ? "\(schema)._fold(\(column))" : "\(column)"
                return "\(value) \(home).gin_trgm_ops"
            }
        case .box:
            let home = try surroundings.required
            return columns.map { field, column in
                surroundings.geometries.contains(field.name) ? "\(column)" : "(\(column)::\(home).geometry)"
            }
        }
    }

    /// The extension that an index of the kind needs; nil without one.
    package var neededExtension: String? {
        switch kind {
        case .order, .contains, .text, .near: nil
        case .trigram: "pg_trgm"
        case .box: "postgis"
        }
    }

    /// Selects the number of values that several records have.
    package func duplicates(in schema: SQLIdentifier) throws -> SQL {
        let values = try fields.map { field -> SQL in
            field.value(of: try SQLIdentifier(field.name), in: schema)
        }
        let present: SQL =
            treatsNullsAsEqual
            ? "true" : values.map { "\($0) IS NOT NULL" as SQL }.joined(separator: " AND ")
        return """
            SELECT count(*) FROM (
                SELECT FROM \(try SchemaChange.table(type, schema)) WHERE \(present)
                GROUP BY _database, \(values.joined(separator: ", ")) HAVING count(*) > 1
            ) AS value
            """
    }
}

extension IndexSurroundings {
    fileprivate var required: SQLIdentifier {
        get throws(PostgresError) {
            guard let home else { throw PostgresError(code: .server, sqlState: .undefinedFunction) }
            return home
        }
    }
}

extension IndexField {
    /// Returns the key of an index of kind `order` for a column.
    fileprivate func value(of column: SQLIdentifier, in schema: SQLIdentifier) -> SQL {
        if let jsonType { return QueryText.typed("\(column)", steps, jsonType, in: schema) }
        return isFolded ? "\(schema)._fold(\(column))" : "\(column)"
    }
}
