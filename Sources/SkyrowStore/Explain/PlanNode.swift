internal import SkyrowJSON
package import SkyrowModel

/// A node of a plan that PostgreSQL prints as JSON, with the properties that advice needs.
package struct PlanNode: Hashable, Sendable {
    /// `Seq Scan`, `Index Scan`, `Sort`.
    package var type: String
    package var relation: String?
    package var alias: String?
    /// The index condition.
    package var condition: String?
    /// The number of rows that PostgreSQL expects.
    package var rows: Double
    package var children: [PlanNode]

    package init(
        _ type: String,
        on relation: String? = nil,
        as alias: String? = nil,
        condition: String? = nil,
        rows: Double = 1,
        _ children: [PlanNode] = []
    ) {
        self.type = type
        self.relation = relation
        self.alias = alias
        self.condition = condition
        self.rows = rows
        self.children = children
    }

    /// Reads the output of `EXPLAIN (FORMAT JSON)`; returns the plan and its part of the text, or nil if there is no plan.
    package static func read(_ text: String) -> (node: PlanNode, text: JSONText)? {
        let document = try? JSONDocument(Array(text.utf8), depthLimit: .max)
        return document?.withRoot { root in
            guard let first = root.firstElement, let plan = first["Plan"] else { return nil }
            return (PlanNode(plan), first.jsonText)
        }
    }

    private init(_ json: JSONView) {
        self.init(
            json["Node Type"]?.string ?? "",
            on: json["Relation Name"]?.string,
            as: json["Alias"]?.string,
            condition: json["Index Cond"]?.string,
            rows: json["Plan Rows"]?.number?.asDouble ?? 0,
            json["Plans"]?.elements.map { PlanNode($0) } ?? []
        )
    }

    /// This node and all of its descendants.
    package var all: [PlanNode] { [self] + children.flatMap(\.all) }

    /// Whether the node reads all records and filters them, in the order of an index or not.
    package var readsInSequence: Bool {
        switch type {
        case "Seq Scan": return true
        case "Index Scan", "Index Only Scan":
            guard let condition else { return true }
            // Most records are in the public database.
            return condition.contains("\(ReservedColumn.database.rawValue) = ") && !condition.contains(" AND ")
        default: return false
        }
    }
    /// Whether it reads all rows before it emits the first; an incremental sort does not.
    package var isSort: Bool { type == "Sort" }
}

extension JSONNumber {
    fileprivate var asDouble: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .outOfRange: nil
        }
    }
}
