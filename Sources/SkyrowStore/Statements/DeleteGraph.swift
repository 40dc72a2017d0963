internal import SkyrowModel
internal import SkyrowPostgres

/// The effects of a delete of records of one type, by the rules of references: the types whose records are deleted with them, by
/// which columns, and the references that become null.
struct DeleteGraph {
    /// A reference from one of the types to one of them.
    struct Edge {
        /// The positions in ``types`` of the referenced type and of the referring type.
        let target: Int
        let source: Int
        let column: RecordColumn
    }

    /// A reference from any type to one of the types, which becomes null.
    struct Nullification {
        let target: Int
        let table: RecordTable
        let column: RecordColumn
    }

    /// The type of the deleted records, then the types of their dependents.
    private(set) var types: [RecordTable]
    private(set) var cascades: [Edge] = []
    private(set) var nullifications: [Nullification] = []

    /// Returns nil if a delete changes nothing else.
    init?(of table: RecordTable, in catalog: SchemaCatalog) {
        guard catalog.deleteRules[table.name] != nil else { return nil }
        types = [table]
        var places = [table.name: 0]
        var next = 0
        while next < types.count {
            for reference in catalog.deleteRules[types[next].name] ?? [] {
                switch reference.column.onDelete {
                case .restrict: break
                case .setNull:
                    nullifications.append(Nullification(target: next, table: reference.table, column: reference.column))
                case .cascade:
                    let source = places[reference.table.name] ?? types.count
                    if source == types.count {
                        places[reference.table.name] = source
                        types.append(reference.table)
                    }
                    cascades.append(Edge(target: next, source: source, column: reference.column))
                }
            }
            next += 1
        }
    }
}
