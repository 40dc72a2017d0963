package import SkyrowModel
internal import SkyrowQuery

/// Decides whether a table can have an index, and under which name, from what a transaction sees.
package struct IndexPlan: Hashable, Sendable {
    /// An index in the reserved table.
    package struct Row: Hashable, Sendable {
        package var name: String
        /// nil for an index not created by the service, listed only to be deleted.
        package var definition: IndexDefinition?
        package var record: IndexRecord
    }

    package enum Outcome: Hashable, Sendable {
        /// The index exists, or is being built.
        case existing(name: String)
        /// The service has created the remains of the index; its build starts again under the same name.
        case again(name: String)
        /// The index must be created under this name; it replaces an obsolete row.
        case new(name: String, replacing: String?)
    }

    /// Upper bound on the indexes of a type, since each one costs every save.
    package static let maximumIndexes = 64

    /// The stored definition, with the names of columns.
    package let definition: IndexDefinition
    package let outcome: Outcome

    /// Throws `108 InvalidArgument` that names the invalid element.
    ///
    /// - Parameters:
    ///   - rows: the rows of the reserved table for the type.
    ///   - taken: the names of all relations of the schema, and of all rows of the reserved table.
    ///   - serverVersion: the value of `server_version_num`, such as 150020.
    package init(
        _ wanted: IndexDefinition,
        on table: RecordTable,
        rows: [Row],
        taken: Set<String>,
        serverVersion: Int
    ) throws(SkyrowError) {
        let definition = try Self.checked(wanted, on: table, serverVersion: serverVersion)
        self.definition = definition
        let same = rows.filter { $0.definition == definition && $0.record.state != .deleting }
        let present = Set(table.indexes.map(\.name))
        var replaced: String?
        for row in same {
            switch row.record.state {
            case .building:
                outcome = .existing(name: row.name)
                return
            case .ready where present.contains(row.name):
                outcome = .existing(name: row.name)
                return
            case .failed where present.contains(row.name) && row.record.failure?.reason != .nameTaken:
                outcome = .again(name: row.name)
                return
            case .ready, .failed, .deleting:
                replaced = row.name
            }
        }
        let others = rows.count { $0.record.state == .building && !present.contains($0.name) }
        guard present.count + others < Self.maximumIndexes else {
            throw .invalidArgument(
                "A record type can have at most \(Self.maximumIndexes) indexes, since each one slows down every save.",
                "record_type"
            )
        }
        var names = taken
        if let replaced, !present.contains(replaced) { names.remove(replaced) }
        outcome = .new(name: Self.name(of: definition, besides: names), replacing: replaced)
    }

    // MARK: Names

    /// Returns a name in PostgreSQL's style, `film_year_rating_idx`, of at most 63 bytes and not in `taken`.
    package static func name(of definition: IndexDefinition, besides taken: Set<String>) -> String {
        let fields = definition.fields.flatMap { [$0.name] + $0.steps + ($0.isFolded ? ["fold"] : []) }
        let head = ([definition.type.rawValue] + fields).joined(separator: "_")
        let ending: String =
            switch definition.kind {
            case .order: definition.isUnique ? "key" : "idx"
            case .contains, .trigram, .text, .near, .box: definition.kind.rawValue
            }
        for number in 0... {
            let suffix = "_\(ending)\(number == 0 ? "" : "\(number)")"
            // The name is ASCII, so a character is a byte.
            let name = head.prefix(63 - suffix.utf8.count) + suffix
            if !taken.contains(String(name)) { return String(name) }
        }
        return head
    }

    // MARK: Validation

    private static func checked(
        _ wanted: IndexDefinition,
        on table: RecordTable,
        serverVersion: Int
    ) throws(SkyrowError) -> IndexDefinition {
        var definition = wanted
        guard (1...IndexDefinition.maximumFields).contains(definition.fields.count) else {
            throw .invalidArgument("An index must have 1 to \(IndexDefinition.maximumFields) fields.", "fields")
        }
        if definition.kind != .order {
            let kind = definition.kind.rawValue
            guard !definition.isUnique else {
                throw .invalidArgument("An index of the kind \(kind) cannot be unique.", "unique")
            }
            guard definition.fields.count == 1 else {
                throw .invalidArgument("An index of the kind \(kind) must have exactly one field.", "fields").at(1).at(
                    "fields"
                )
            }
            guard definition.fields[0].direction == .ascending else {
                throw .invalidArgument("An index of the kind \(kind) cannot have a direction.", "fields").at(0).at(
                    "fields"
                )
            }
        }
        if definition.treatsNullsAsEqual {
            guard definition.isUnique else { throw .invalidArgument("\"nulls\" requires \"unique\": true.", "nulls") }
            guard serverVersion >= 150_000 else {
                throw .invalidArgument("\"nulls\": \"equal\" requires PostgreSQL 15.", "nulls")
            }
        }
        var seen: Set<String> = []
        for place in definition.fields.indices {
            do throws(SkyrowError) {
                let field = try checked(definition.fields[place], of: definition.kind, on: table)
                var ascending = field
                ascending.direction = .ascending
                guard seen.insert(ascending.text).inserted else {
                    throw .invalidArgument("The index has the field \(field.keyPath) twice.", "fields")
                }
                definition.fields[place] = field
            } catch {
                throw error.at(place).at("fields")
            }
        }
        return definition
    }

    private static func checked(
        _ wanted: IndexField,
        of kind: IndexKind,
        on table: RecordTable
    ) throws(SkyrowError) -> IndexField {
        var field = wanted
        guard let name = try? FieldName(field.name) else {
            guard kind == .order, !field.isFolded, field.jsonType == nil,
                let column = ReservedColumn(keyPath: field.name), column.takesIndex
            else {
                throw .invalidArgument("An index of the kind \(kind.rawValue) cannot have \(field.name).", "fields")
            }
            field.name = column.rawValue
            return field
        }
        guard let column = table[name] else {
            throw .invalidArgument("The type \(table.name) has no field \(name).", "fields", name.rawValue)
        }
        if field.jsonType != nil {
            try checkPath(of: field, in: column, for: kind)
            return field
        }
        if field.isFolded, kind == .text {
            throw .invalidArgument("An index of the kind text already ignores case; remove \"fold\".", "fields")
        }
        if field.isFolded, column.type != .string {
            throw .invalidArgument(
                "\"fold\" is only for strings, and the field \(name) is of the type \(column.type.name).",
                "fields"
            )
        }
        guard column.type.column.indexes.contains(kind) else {
            throw .invalidArgument(
                "A field of the type \(column.type.name) cannot have an index of the kind \(kind.rawValue).",
                "fields"
            )
        }
        return field
    }

    /// Throws for a value inside JSON whose index expression no query would match.
    private static func checkPath(
        of field: IndexField,
        in column: RecordColumn,
        for kind: IndexKind
    ) throws(SkyrowError) {
        guard kind == .order else {
            throw .invalidArgument("An index of the kind \(kind.rawValue) cannot have values inside JSON.", "fields")
        }
        guard column.type == .json else {
            throw .invalidArgument(
                "\"$as\" is only for values inside JSON, and the field \(column.field) is of the type \(column.type.name).",
                "fields"
            )
        }
        guard !field.isFolded else {
            throw .invalidArgument("\"fold\" is only for fields, not for values inside JSON.", "fields")
        }
        guard (1...maximumJSONStepsOfAPath).contains(field.steps.count), JSONPathLiteral(field.steps) != nil else {
            throw .invalidArgument(
                """
                An index can go at most \(maximumJSONStepsOfAPath) steps into JSON; each step must be a name of ASCII letters, \
                digits and underscores with at most 63 characters, or a number of at most six digits.
                """,
                "fields"
            )
        }
    }
}
