internal import SkyrowJSON
package import SkyrowModel

/// A record as its table stores it, for the in-memory interpreter.
///
/// Its ids and references are stored ids (``StoredID``), which in a private database have its prefix.
package struct StoredRecord: Hashable, Sendable {
    package var type: RecordTypeName
    package var storedID: String
    package var database: DatabaseScope
    package var owner: UserID?
    /// nil means the type's default.
    package var access: AccessList?
    package var createdAt: Timestamp?
    package var createdBy: UserID?
    package var updatedAt: Timestamp?
    package var updatedBy: UserID?
    package var revision: Int64?
    /// The fields that are not NULL.
    package var fields: [FieldName: StoredValue]

    package init(
        type: RecordTypeName,
        storedID: String,
        database: DatabaseScope = .everyone,
        fields: [FieldName: StoredValue] = [:]
    ) {
        self.type = type
        self.storedID = storedID
        self.database = database
        self.fields = fields
    }

    /// Returns the stored form of a record.
    ///
    /// - Parameter reference: returns the stored id of a field's target; private records refer to their own database or to the
    ///   public one, which the wire id does not distinguish.
    package init(_ record: Record, in database: DatabaseScope, reference: (RecordID) -> String) {
        type = record.id.type
        storedID = StoredID(record.id.id, in: database).text
        self.database = database
        owner = record.owner
        access = record.access
        createdAt = record.createdAt
        createdBy = record.createdBy
        updatedAt = record.updatedAt
        updatedBy = record.updatedBy
        revision = record.revision
        fields = record.fields.compactMapValues { StoredValue($0, reference: reference) }
    }

    /// Returns the value of a column; nil if it is missing.
    func value(of place: ResolvedColumn.Place) -> StoredValue? {
        switch place {
        case .field(let name, _): fields[name]
        case .metadata(let column): self[column]
        // The interpreter has the element.
        case .element: nil
        }
    }

    /// The value of a reserved column; nil if it is missing.
    package subscript(_ column: ReservedColumn) -> StoredValue? {
        switch column {
        case .id: .scalar(.text(storedID))
        case .database: .scalar(.text(databaseName))
        case .owner: owner.map { .scalar(.text($0.rawValue)) }
        case .access: access.map { _ in .opaque }
        case .createdAt: createdAt.map { .scalar(.datetime($0)) }
        case .createdBy: createdBy.map { .scalar(.text($0.rawValue)) }
        case .updatedAt: updatedAt.map { .scalar(.datetime($0)) }
        case .updatedBy: updatedBy.map { .scalar(.text($0.rawValue)) }
        case .revision: revision.map { .scalar(.integer($0)) }
        }
    }

    /// Returns whether a field has the id of a user.
    package func names(_ user: UserID, in field: MemberField) -> Bool {
        switch fields[field.name] {
        case .scalar(.text(let id))?: return !field.isArray && id.isSameText(as: user.rawValue)
        case .array(let elements)?:
            return elements.contains { element in
                if case .text(let id)? = element { id.isSameText(as: user.rawValue) } else { false }
            }
        case .scalar?, .json?, .opaque?, nil: return false
        }
    }

    private var databaseName: String {
        switch database {
        case .everyone, .union: "_public"
        case .user(let user): user.rawValue
        }
    }
}

extension StoredValue {
    /// Returns the value that a query compares; nil if it is missing, and if the budget is exceeded.
    func read(as reading: ResolvedColumn.Reading, within budget: inout StepBudget) -> StoredValue? {
        switch (self, reading) {
        case (_, .stored): return self
        case (.array(let elements), .count): return .scalar(.integer(Int64(elements.count)))
        case (.scalar(.location(let location)), .distance(let center)):
            return .scalar(.number(location.distance(to: center)))
        case (.scalar(.text(let text)), .rank(let words)):
            return words.matches(text, within: &budget).map { .scalar(.number($0 ? 1 : 0)) }
        case (.json(let text), _): return budget.take(parsing: text.utf8.count) ? text.read(as: reading) : nil
        default: return nil
        }
    }
}

extension StoredValue {
    /// The elements of an array, nil for NULL; empty for other values.
    var elements: [StoredValue?] {
        switch self {
        case .array(let elements): elements.map { $0.map { .scalar($0) } }
        case .json(let text): text.withValue { json in json.elements.map { .json($0.jsonText) } } ?? []
        case .scalar, .opaque: []
        }
    }
}

extension JSONText {
    fileprivate func read(as reading: ResolvedColumn.Reading) -> StoredValue? {
        switch reading {
        case .stored: return .json(self)
        case .count, .distance, .members, .rank: return nil
        case .inside(let steps): return value(at: steps).map { .json($0) }
        case .typed(let steps, let type): return value(at: steps)?.scalar(type).map { .scalar($0) }
        case .size(let steps): return value(at: steps)?.arrayCount.map { .scalar(.integer($0)) }
        }
    }

    /// Returns the value as a type; nil for a value of another type.
    fileprivate func scalar(_ type: JSONValueType) -> ResolvedLiteral? {
        withValue { json in
            switch type {
            case .string: json.string.map { .text($0) }
            case .number: JSONDecimal(json).map { .decimal($0) }
            case .boolean: json.boolean.map { .boolean($0) }
            case .datetime: json.instant.map { .datetime($0) }
            }
        } ?? nil
    }

    fileprivate var arrayCount: Int64? { withValue { $0.isArray ? Int64($0.count) : nil } ?? nil }
}
