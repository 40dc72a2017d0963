internal import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

extension SchemaDrift {
    /// Whether `skyrow schema apply` repairs the drift.
    package var isRepairable: Bool {
        switch fault {
        case .noComment, .reservedDefault, .reservedNull, .noPart, .noReferenceIndex, .immediateForeignKey,
            .unvalidatedForeignKey, .narrowColumn, .textOrder, .noIdentity:
            true
        case .unsupportedType, .generated, .required, .unreadableName, .invalidIndex, .halfMade:
            false
        }
    }

    /// Returns the statements of an automatic repair; nil if it takes an operator's decision.
    ///
    /// - Parameter isLarge: Whether a constraint is made for new rows only, as validating the existing ones would take
    ///   too long.
    package func repair(in schema: SQLIdentifier, isLarge: Bool = false) throws -> [SQL]? {
        if isLarge, case .noPart(let part) = fault { return [part.repair(of: relation, in: schema, validates: false)] }
        return isRepairable ? try statements(in: schema) : nil
    }

    /// Returns the statements of one possible repair; empty if an operator must find one.
    package func statements(in schema: SQLIdentifier) throws -> [SQL] {
        let table: SQL = "\(schema).\(try SQLIdentifier(relation))"
        let column = try field.map { try SQLIdentifier($0.rawValue) }
        switch fault {
        case .noComment(let comment):
            guard let column else { return ["COMMENT ON TABLE \(table) IS \(literal: comment)"] }
            return ["COMMENT ON COLUMN \(table).\(column) IS \(literal: comment)"]
        case .reservedDefault(let reserved):
            return [reserved.setDefault(on: table, in: schema)]
        case .reservedNull(let reserved):
            return ["ALTER TABLE \(table) ALTER COLUMN \(reserved.identifier) SET NOT NULL"]
        case .noPart(let part):
            return [part.repair(of: relation, in: schema)]
        case .noReferenceIndex:
            return column.map { ["CREATE INDEX ON \(table) (\($0)) WHERE \($0) IS NOT NULL"] } ?? []
        case .immediateForeignKey(let name):
            let key = try SQLIdentifier(name)
            return ["ALTER TABLE \(table) ALTER CONSTRAINT \(key) DEFERRABLE INITIALLY IMMEDIATE"]
        case .unvalidatedForeignKey(let name):
            return ["ALTER TABLE \(table) VALIDATE CONSTRAINT \(try SQLIdentifier(name))"]
        case .narrowColumn(let sqlType):
            let wide: SQL = sqlType == "real" ? "double precision" : "bigint"
            return column.map { ["ALTER TABLE \(table) ALTER COLUMN \($0) TYPE \(wide)"] } ?? []
        case .unsupportedType:
            return column.map { ["ALTER TABLE \(table) ALTER COLUMN \($0) TYPE text COLLATE \"C\" USING \($0)::text"] }
                ?? []
        case .textOrder: return ["SELECT \(schema)._order_by_bytes(\(literal: relation))"]
        case .noIdentity: return ["ALTER TABLE \(table) REPLICA IDENTITY FULL"]
        case .required: return column.map { ["ALTER TABLE \(table) ALTER COLUMN \($0) DROP NOT NULL"] } ?? []
        case .invalidIndex(let name): return ["DROP INDEX \(schema).\(try SQLIdentifier(name))"]
        case .generated, .unreadableName, .halfMade: return []
        }
    }

    /// The repair statements for psql, without bound values.
    package func remedy(in schema: SQLIdentifier) -> [String] {
        ((try? statements(in: schema)) ?? []).map { "\($0.text);" }
    }
}
