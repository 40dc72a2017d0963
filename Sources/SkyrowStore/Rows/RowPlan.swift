internal import SkyrowModel

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
        /// The column of the row.
        let column: Int
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
