internal import SkyrowModel
internal import SkyrowPostgres

/// What a delete of records of one type brings about by the rules of references: which types go with them, by which
/// columns, and whose references become null.
struct DeleteGraph {
    /// A reference from one of the types to another one of them.
    struct Edge {
        /// The place in ``types`` of the type that is referred to, and of the one that refers.
        let target: Int
        let source: Int
        let column: RecordColumn
    }

    /// A reference from any type to one of the types that becomes null.
    struct Nullification {
        let target: Int
        let table: RecordTable
        let column: RecordColumn
    }

    /// The type that is deleted from, and those whose records may go with its.
    private(set) var types: [RecordTable]
    private(set) var cascades: [Edge] = []
    private(set) var nullifications: [Nullification] = []

    /// nil where a delete changes nothing else.
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
                    nullifications.append(
                        Nullification(target: next, table: reference.table, column: reference.column)
                    )
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
