internal import SkyrowModel
internal import SkyrowPostgres

/// How the columns of a statement's rows become the members of a record, in the order of the wire form.
///
/// An object, so that every row of an answer refers to one plan and still fits an existential's inline buffer.
package final class RowPlan: Sendable {
    /// What a column holds and how it is told to a sink.
    enum Kind: Sendable {
        /// The stored id of the record itself.
        case id
        /// The access list, which is told even when it is NULL.
        case access
        case text
        case plainDatetime
        case integer
        case number
        case boolean
        case datetime
        case json
        case reference(RecordTypeName)
        case bytes
        /// True where the column, whose type is not ours, is not NULL.
        case unknown(String)
    }

    struct Member: Sendable {
        let key: MemberKey
        let kind: Kind
        /// The type the column has in the result, unless the schema was changed a moment ago.
        let oid: PostgresOID
        /// The column of the row.
        let column: Int

        init(key: MemberKey, kind: Kind, column: Int) {
            self.key = key
            self.kind = kind
            self.column = column
            oid = kind.oid
        }
    }

    /// A record that travels with another, from the same row.
    struct Inclusion: Sendable {
        let name: String
        /// nil where nothing can be included under the name.
        let plan: RowPlan?
    }

    let type: RecordTypeName
    let members: [Member]
    let inclusions: [Inclusion]
    /// The column of the stored id, NULL where there is no record in the row.
    let idColumn: Int

    init(type: RecordTypeName, members: [Member], idColumn: Int, inclusions: [Inclusion] = []) {
        self.type = type
        self.members = members
        self.idColumn = idColumn
        self.inclusions = inclusions
    }

    /// The same with included records.
    func including(_ inclusions: [Inclusion]) -> RowPlan {
        RowPlan(type: type, members: members, idColumn: idColumn, inclusions: inclusions)
    }
}

extension RowPlan.Kind {
    /// The type of the column that holds it.
    var oid: PostgresOID {
        switch self {
        case .id, .text, .reference: .text
        case .access, .json: .jsonb
        case .plainDatetime, .datetime: .timestamptz
        case .integer: .int8
        case .number: .float8
        case .boolean, .unknown: .bool
        case .bytes: .bytea
        }
    }

    /// How a column is read whose type is no longer the one of the plan, as when integers were widened to doubles.
    init(changedTo oid: PostgresOID) {
        switch oid {
        case .text: self = .text
        case .int8: self = .integer
        case .float8: self = .number
        case .bool: self = .boolean
        case .timestamptz: self = .datetime
        case .jsonb: self = .json
        case .bytea: self = .bytes
        default: self = .unknown("unknown")
        }
    }
}
