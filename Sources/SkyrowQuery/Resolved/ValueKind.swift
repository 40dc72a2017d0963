package import SkyrowJSON
package import SkyrowModel

/// The kind of a column's values, which decides how they are compared.
package enum ValueKind: Hashable, Sendable {
    case string
    /// Integers and sequences.
    case integer
    case number
    /// A number inside JSON, which keeps every digit.
    case decimal
    case boolean
    case datetime
    case json
    case bytes
    case reference(RecordTypeName)
    /// The id of the record itself.
    case id(RecordTypeName)
    /// The id of a user: `_owner_id`, `_created_by`, `_updated_by`.
    case user
    /// The name of the database.
    case database
    /// The access list.
    case access
    /// An array whose elements are of this type.
    case array(ElementType)
    case location
    case geometry
    /// The name of a file.
    case asset
    /// The members of a relation.
    case relation(RecordTypeName)
    /// A column of an unsupported type that psql created; it can only be compared with `null`.
    case opaque

    package init(_ type: FieldType) {
        switch type {
        case .string: self = .string
        case .integer, .sequence: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .datetime: self = .datetime
        case .json: self = .json
        case .reference(let target): self = .reference(target)
        case .bytes: self = .bytes
        case .array(let element): self = .array(element)
        case .location: self = .location
        case .geometry: self = .geometry
        case .asset: self = .asset
        case .relation(let target): self = .relation(target)
        case .unknown: self = .opaque
        }
    }

    /// The target type of a reference; nil for values that are not references.
    package var target: RecordTypeName? {
        switch self {
        case .reference(let type): type
        case .user: .user
        default: nil
        }
    }

    /// The target type of a value with any number of references; nil for other values.
    package var listTarget: RecordTypeName? {
        switch self {
        case .array(.reference(let type)), .relation(let type): type
        default: nil
        }
    }

    /// Whether the values are texts in PostgreSQL, which have a collation.
    package var isText: Bool {
        switch self {
        case .string, .reference, .id, .user, .database, .asset, .array(.string), .array(.reference): true
        default: false
        }
    }

    /// Whether the values have an order in PostgreSQL, by which records can be sorted.
    package var isSortable: Bool { !valueClass.isDisjoint(with: .scalars.union([.reference, .asset])) }
}

extension ValueKind {
    /// The row of the operator table for fields of the kind.
    package var valueClass: ValueClasses {
        switch self {
        case .string: .string
        case .integer, .number, .decimal: .number
        case .boolean: .boolean
        case .datetime: .datetime
        case .json: .json
        case .bytes: .bytes
        case .reference: .reference
        case .id: .id
        case .user: .user
        case .database: .database
        case .array: .array
        case .location: .location
        case .geometry: .geometry
        case .asset: .asset
        case .relation: .relation
        case .access, .opaque: .opaque
        }
    }
}

extension ValueKind {
    /// The field type of a group's member.
    package var answerType: FieldType {
        switch self {
        case .integer: .integer
        case .number: .number
        // JSON keeps every digit.
        case .decimal: .json
        case .boolean: .boolean
        case .datetime: .datetime
        case .bytes: .bytes
        case .reference(let type), .id(let type): .reference(type)
        case .asset: .asset
        default: .string
        }
    }
}

// MARK: Literals

/// A value of the type of the column that it is compared with.
package enum ResolvedLiteral: Hashable, Sendable {
    case text(String)
    case integer(Int64)
    case number(Double)
    case decimal(JSONDecimal)
    case boolean(Bool)
    case datetime(Timestamp)
    case bytes([UInt8])
    case location(Location)
    case geometry(Geometry)
}

/// Values of the type of the column that is searched for among them.
package enum ResolvedList: Hashable, Sendable {
    case texts([String])
    case integers([Int64])
    case numbers([Double])
    case decimals([JSONDecimal])
    case booleans([Bool])
    case datetimes([Timestamp])
    case bytes([[UInt8]])
    case locations([Location])
}

extension ResolvedList {
    package var count: Int {
        switch self {
        case .texts(let list): list.count
        case .integers(let list): list.count
        case .numbers(let list): list.count
        case .decimals(let list): list.count
        case .booleans(let list): list.count
        case .datetimes(let list): list.count
        case .bytes(let list): list.count
        case .locations(let list): list.count
        }
    }

    /// The values of the list as single literals.
    package var literals: [ResolvedLiteral] {
        switch self {
        case .texts(let list): list.map { .text($0) }
        case .integers(let list): list.map { .integer($0) }
        case .numbers(let list): list.map { .number($0) }
        case .decimals(let list): list.map { .decimal($0) }
        case .booleans(let list): list.map { .boolean($0) }
        case .datetimes(let list): list.map { .datetime($0) }
        case .bytes(let list): list.map { .bytes($0) }
        case .locations(let list): list.map { .location($0) }
        }
    }

    /// Whether the list is empty; then even a missing value gives false.
    var isEmpty: Bool { count == 0 }

    /// Creates the list of literals of a kind (``ValueKind/literal(_:)``); nil for a kind without such literals.
    init?(_ literals: [ResolvedLiteral], of kind: ValueKind) {
        switch kind {
        case .decimal: self = .decimals(literals.compactMap { if case .decimal(let value) = $0 { value } else { nil } })
        case .boolean: self = .booleans(literals.compactMap { if case .boolean(let value) = $0 { value } else { nil } })
        case .datetime:
            self = .datetimes(literals.compactMap { if case .datetime(let value) = $0 { value } else { nil } })
        case .bytes: self = .bytes(literals.compactMap { if case .bytes(let value) = $0 { value } else { nil } })
        case .asset: self = .texts(literals.compactMap { if case .text(let value) = $0 { value } else { nil } })
        case .location:
            self = .locations(literals.compactMap { if case .location(let value) = $0 { value } else { nil } })
        default: return nil
        }
    }
}

extension ValueKind {
    /// Returns the literal that a value is for columns of the kind; nil for a value of another type.
    ///
    /// Texts are cast as in a save. Texts, ids and the numbers of columns have further rules (``Comparison``).
    func literal(_ value: RecordValue) -> ResolvedLiteral? {
        switch (self, cast(value)) {
        case (.boolean, .boolean(let flag)): .boolean(flag)
        case (.datetime, .datetime(let instant)): .datetime(instant)
        case (.bytes, .bytes(let bytes)): .bytes(bytes)
        case (.location, .location(let location)): .location(location)
        case (.asset, .asset(let asset)): .text(asset.name.rawValue)
        case (.decimal, .integer(let integer)): .decimal(JSONDecimal(integer))
        case (.decimal, .number(let number)): JSONDecimal(number).map { .decimal($0) }
        default: nil
        }
    }

    /// What a literal for columns of the kind is, in an error.
    var noun: String {
        switch self {
        case .integer, .number, .decimal: "a number"
        case .boolean: "a boolean"
        case .datetime: "a date"
        case .bytes: "bytes"
        case .location: "a location"
        case .geometry: "a geometry"
        case .asset: "a file"
        default: "null"
        }
    }

    private func cast(_ value: RecordValue) -> RecordValue {
        guard case .string(let text) = value, self != .decimal else { return value }
        return TextCast(answerType)?.value(of: text) ?? value
    }
}

// MARK: In memory

/// A non-NULL value of a stored record.
package enum StoredValue: Hashable, Sendable {
    /// A value that is compared with others of its type; for an id, the stored one.
    case scalar(ResolvedLiteral)
    case json(JSONText)
    /// The elements of an array, nil for NULL; for references and members of a relation, stored ids.
    case array([ResolvedLiteral?])
    /// A value that can only be compared with `null`.
    case opaque

    /// nil for `null`, and for a sequence without a number yet.
    init?(_ value: RecordValue, reference: (RecordID) -> String) {
        switch value {
        case .null, .sequence: return nil
        case .string(let text): self = .scalar(.text(text))
        case .integer(let integer): self = .scalar(.integer(integer))
        case .number(let number): self = .scalar(.number(number))
        case .boolean(let flag): self = .scalar(.boolean(flag))
        case .datetime(let instant): self = .scalar(.datetime(instant))
        case .json(let text): self = .json(text)
        case .reference(let id): self = .scalar(.text(reference(id)))
        case .bytes(let bytes): self = .scalar(.bytes(bytes))
        case .location(let location): self = .scalar(.location(location))
        case .geometry(let geometry): self = .scalar(.geometry(geometry))
        case .asset(let asset): self = .scalar(.text(asset.name.rawValue))
        case .array(let elements):
            self = .array(
                elements.map { element in
                    if case .scalar(let literal)? = StoredValue(element, reference: reference) { literal } else { nil }
                }
            )
        // A record does not contain its members.
        case .relation: self = .array([])
        }
    }
}

extension ValueOrder {
    /// nil for values of incomparable types.
    init?(_ a: ResolvedLiteral, _ b: ResolvedLiteral) {
        switch (a, b) {
        case (.text(let a), .text(let b)): self = ValueOrder(texts: a, b)
        case (.integer(let a), .integer(let b)): self = ValueOrder(a, b)
        case (.number(let a), .number(let b)): self = ValueOrder(numbers: a, b)
        case (.integer(let a), .number(let b)): self = ValueOrder(a, beside: b)
        case (.number(let a), .integer(let b)): self = ValueOrder(b, beside: a).turned
        case (.decimal(let a), .decimal(let b)): self = ValueOrder(a, b)
        case (.boolean(let a), .boolean(let b)): self = ValueOrder(a ? 1 : 0, b ? 1 : 0)
        case (.datetime(let a), .datetime(let b)): self = ValueOrder(a, b)
        case (.bytes(let a), .bytes(let b)): self = ValueOrder(bytes: a, b)
        // These have equality but no order.
        case (.location(let a), .location(let b)): self = a.isSame(as: b) ? .same : .greater
        case (.geometry(let a), .geometry(let b)): self = a.isSame(as: b) ? .same : .greater
        default: return nil
        }
    }
}

extension ResolvedLiteral {
    /// Returns an upper bound on the compared bytes.
    func bytes(comparedWith other: ResolvedLiteral) -> Int {
        switch (self, other) {
        case (.text(let a), .text(let b)): min(a.utf8.count, b.utf8.count)
        case (.bytes(let a), .bytes(let b)): min(a.count, b.count)
        case (.geometry(let a), .geometry(let b)): 16 * min(a.positions.count, b.positions.count)
        case (.decimal(let a), .decimal(let b)): min(a.digitCount, b.digitCount)
        default: 1
        }
    }
}

extension ResolvedList {
    /// Returns an estimate of the compared bytes: texts of different lengths need few.
    func bytes(comparedWith value: ResolvedLiteral) -> Int {
        switch (self, value) {
        case (.texts(let list), .text(let text)):
            list.reduce(0) { $0 + 8 + ($1.utf8.count == text.utf8.count ? text.utf8.count : 0) }
        case (.bytes(let list), .bytes(let bytes)):
            list.reduce(0) { $0 + 8 + ($1.count == bytes.count ? bytes.count : 0) }
        case (.decimals(let list), .decimal(let number)): (8 + number.digitCount) * list.count
        default: count
        }
    }
}

extension ResolvedList {
    /// Whether a value is in the list; nil for a value of another type.
    func contains(_ value: ResolvedLiteral) -> Bool? {
        switch (value, self) {
        case (.text(let text), .texts(let list)): list.contains { $0.isSameText(as: text) }
        case (.integer(let integer), .integers(let list)): list.contains(integer)
        case (.number(let number), .numbers(let list)): list.contains { ValueOrder(numbers: $0, number) == .same }
        case (.decimal(let number), .decimals(let list)): list.contains(number)
        case (.boolean(let flag), .booleans(let list)): list.contains(flag)
        case (.datetime(let instant), .datetimes(let list)): list.contains(instant)
        case (.bytes(let bytes), .bytes(let list)): list.contains(bytes)
        case (.location(let location), .locations(let list)): list.contains { $0.isSame(as: location) }
        default: nil
        }
    }
}
