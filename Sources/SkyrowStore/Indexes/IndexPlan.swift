package import SkyrowModel
internal import SkyrowQuery

/// Whether a table can have an index, and by which name: a value, made of what a transaction sees.
package struct IndexPlan: Hashable, Sendable {
    /// What the reserved table says of an index.
    package struct Row: Hashable, Sendable {
        package var name: String
        /// nil of an index of other make, which is there to be deleted.
        package var definition: IndexDefinition?
        package var record: IndexRecord

        package init(name: String, definition: IndexDefinition?, record: IndexRecord) {
            self.name = name
            self.definition = definition
            self.record = record
        }
    }

    package enum Outcome: Hashable, Sendable {
        /// It is there, or on its way.
        case existing(name: String)
        /// What is left of it is ours, so it is begun anew under its name.
        case again(name: String)
        /// To be made under this name, in the place of a row that is of no more use.
        case new(name: String, replacing: String?)
    }

    /// Indexes that a type may have: each one costs every save.
    package static let maximumIndexes = 64

    /// The definition as it is kept: with the names of columns.
    package let definition: IndexDefinition
    package let outcome: Outcome

    /// Throws `108 InvalidArgument` about the faulty element.
    ///
    /// - Parameters:
    ///   - rows: those of the reserved table that are about the type.
    ///   - taken: the names of all relations of the schema, and of all rows of the reserved table.
    ///   - serverVersion: as `server_version_num` has it, 150020.
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
                "A record type has at most \(Self.maximumIndexes) indexes, since each one costs every save.",
                "record_type"
            )
        }
        var names = taken
        if let replaced, !present.contains(replaced) { names.remove(replaced) }
        outcome = .new(name: Self.name(of: definition, besides: names), replacing: replaced)
    }

    // MARK: Names

    /// A name as PostgreSQL would choose one, `film_year_rating_idx`, of at most 63 bytes and unlike all others.
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
            // All of it is ASCII, so that a character is a byte.
            let name = head.prefix(63 - suffix.utf8.count) + suffix
            if !taken.contains(String(name)) { return String(name) }
        }
        return head
    }

    // MARK: What goes together

    private static func checked(
        _ wanted: IndexDefinition,
        on table: RecordTable,
        serverVersion: Int
    ) throws(SkyrowError) -> IndexDefinition {
        var definition = wanted
        guard (1...IndexCreateRequest.maximumFields).contains(definition.fields.count) else {
            throw .invalidArgument("An index has 1 to \(IndexCreateRequest.maximumFields) fields.", "fields")
        }
        if definition.kind != .order {
            let kind = definition.kind.rawValue
            guard !definition.isUnique else {
                throw .invalidArgument("An index of the kind \(kind) is not unique.", "unique")
            }
            guard definition.fields.count == 1 else {
                throw .invalidArgument("An index of the kind \(kind) has one field.", "fields").at(1).at("fields")
            }
            guard definition.fields[0].direction == .ascending else {
                throw .invalidArgument("An index of the kind \(kind) has no direction.", "fields").at(0).at("fields")
            }
        }
        if definition.treatsNullsAsEqual {
            guard definition.isUnique else {
                throw .invalidArgument("\"nulls\" goes with \"unique\": true.", "nulls")
            }
            guard serverVersion >= 150_000 else {
                throw .invalidArgument("\"nulls\": \"equal\" needs PostgreSQL 15.", "nulls")
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
            throw .invalidArgument("An index of the kind text is without case as it is.", "fields")
        }
        if field.isFolded, column.type != .string {
            throw .invalidArgument(
                "fold is for texts, and the field \(name) is of the type \(column.type.name).",
                "fields"
            )
        }
        guard column.type.takesIndex(of: kind) else {
            throw .invalidArgument(
                "A field of the type \(column.type.name) has no index of the kind \(kind.rawValue).",
                "fields"
            )
        }
        return field
    }

    /// Throws for a value inside JSON that no query is printed for as an index would have it.
    private static func checkPath(
        of field: IndexField,
        in column: RecordColumn,
        for kind: IndexKind
    ) throws(SkyrowError) {
        guard kind == .order else {
            throw .invalidArgument("An index of the kind \(kind.rawValue) has no values inside JSON.", "fields")
        }
        guard column.type == .json else {
            throw .invalidArgument(
                "\"$as\" is for values inside JSON, and the field \(column.field) is of the type \(column.type.name).",
                "fields"
            )
        }
        guard !field.isFolded else {
            throw .invalidArgument("fold is for texts that are fields, and not for values inside JSON.", "fields")
        }
        guard (1...maximumJSONStepsOfAPath).contains(field.steps.count), JSONPathLiteral(field.steps) != nil else {
            throw .invalidArgument(
                """
                The steps into JSON of an index, of which it has at most \(maximumJSONStepsOfAPath), are names of ASCII letters, \
                digits and underscores with at most 63 characters, or numbers of at most six digits.
                """,
                "fields"
            )
        }
    }
}

extension FieldType {
    /// Whether a field of the type can have an index of a kind.
    package func takesIndex(of kind: IndexKind) -> Bool {
        switch self {
        case .string: kind == .order || kind == .trigram || kind == .text
        case .integer, .number, .boolean, .datetime, .reference, .sequence, .bytes: kind == .order
        case .json, .array: kind == .contains
        case .location: kind == .near || kind == .box
        case .geometry: kind == .box
        case .relation, .unknown: false
        }
    }
}
