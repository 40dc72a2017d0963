/// A change of one field that the service computes from the stored value, in the statement that saves the record.
///
/// ```swift
/// try RecordDraft("post/1", ["title": "Hello"], applying: ["views": .increment(by: 1), "tags": .push("swift")])
/// ```
///
/// The value is not read first, so concurrent changes by many clients are all kept. Functions of `SkyrowClient` create the
/// operators of arrays and objects.
public struct FieldOperator: Hashable, Sendable {
    /// A computation on a stored value and an operand.
    public enum Arithmetic: String, Hashable, Sendable, CaseIterable {
        case increment = "inc"
        case multiply = "mul"
        case minimum = "min"
        case maximum = "max"
    }

    /// An end of an array.
    public enum ArrayEnd: Hashable, Sendable {
        case first
        case last
    }

    /// The operators. Members are JSON texts; arrays and elements are JSON texts until they have the type of a field.
    package enum Kind: Hashable, Sendable {
        /// `inc`, `mul`, `min` and `max`
        case compute(Arithmetic, RecordValue)
        case unset
        case setOnInsert(RecordValue)
        /// The elements as an array.
        case push(RecordValue, at: ArrayEnd)
        case addToSet(RecordValue)
        case pull(RecordValue)
        /// `pull` with `$where`
        case pullWhere(RecordPredicate)
        case pop(ArrayEnd)
        /// `set_at`
        case setElement(Int64, RecordValue)
        /// `set_path`
        case setMember(MemberPath, JSONText)
        /// `set_path` with `inc`, `mul`, `min` or `max` and a number.
        case computeMember(MemberPath, Arithmetic, JSONText)
        /// `unset_path`
        case unsetMember(MemberPath)
        /// Adds members to a relation.
        case relate([RecordID])
        /// Removes members of a relation.
        case unrelate([RecordID])
        /// At least one operator, of which no one is `all`.
        case all([FieldOperator])
    }

    package let kind: Kind

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// Upper bounds for one record.
    package enum Limits {
        /// Operators of one record, counting those in `all` one by one.
        package static let count = 256
        /// Operators of one record with a predicate.
        package static let predicates = 1
        package static let all = 32
        /// Elements or members of an operand, and elements of an array that an operator extends.
        package static let elements = 10_000
        /// Bytes of a JSON value after an operator, as PostgreSQL writes it, and of all texts of an array.
        package static let bytes = 1_048_576
        /// Names of a path.
        package static let steps = 16
        /// Nesting of arrays and objects in a value, as in requests and responses.
        package static let depth = 60
        /// Characters of a number in a JSON value after an operator, written without an exponent.
        package static let digits = 400
    }
}

/// A path from a JSON object to a member of it, or of nested objects: `stats.wins`.
package struct MemberPath: Hashable, Sendable {
    /// The names of the members; at least one.
    package let steps: [String]

    /// Parses names that are joined by dots.
    ///
    /// Throws `108 InvalidArgument` for an empty name, for one with NUL, and for more than 16 names.
    package init(_ text: String) throws(SkyrowError) {
        self.init(unchecked: text)
        guard steps.count <= FieldOperator.Limits.steps else {
            throw .invalidArgument("A path can have at most \(FieldOperator.Limits.steps) names.")
        }
        guard steps.allSatisfy({ !$0.isEmpty && !$0.hasNUL }) else {
            throw .invalidArgument("A path must be names without NUL, joined by dots.")
        }
    }

    /// Creates a path from program text without checking it; the service refuses a malformed one.
    package init(unchecked text: String) {
        steps = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    package var description: String { steps.joined(separator: ".") }

    /// Paths are equal when their bytes are, as in PostgreSQL.
    package static func == (a: MemberPath, b: MemberPath) -> Bool {
        a.steps.elementsEqual(b.steps) { $0.isSameText(as: $1) }
    }

    package func hash(into hasher: inout Hasher) {
        for step in steps { hasher.combine(TextKey(step)) }
    }
}

extension FieldOperator {
    /// Adds a number; a missing value becomes the number.
    public static func increment(by number: RecordValue) -> FieldOperator {
        FieldOperator(.compute(.increment, number))
    }

    /// Multiplies by a number; a missing value becomes 0.
    public static func multiply(by number: RecordValue) -> FieldOperator {
        FieldOperator(.compute(.multiply, number))
    }

    /// Keeps the lesser of the stored value and another number, date or string.
    public static func min(_ value: RecordValue) -> FieldOperator {
        FieldOperator(.compute(.minimum, value))
    }

    /// Keeps the greater of the stored value and another number, date or string.
    public static func max(_ value: RecordValue) -> FieldOperator {
        FieldOperator(.compute(.maximum, value))
    }

    /// Removes all elements of an array for which a predicate holds; its key paths begin at the element, which is `$`.
    ///
    /// ```swift
    /// FieldOperator.pull(where: Field.element < 3)
    /// FieldOperator.pull(where: Field("size.width", as: .number) > 100)
    /// ```
    public static func pull(where predicate: RecordPredicate) -> FieldOperator {
        FieldOperator(.pullWhere(predicate))
    }

    /// Clears the field, as `null` does.
    public static var unset: FieldOperator { FieldOperator(.unset) }

    /// Sets the field when the record is new, and leaves it unchanged otherwise.
    public static func setOnInsert(_ value: RecordValue) -> FieldOperator {
        FieldOperator(.setOnInsert(value))
    }

    /// Removes the first element of an array.
    public static var popFirst: FieldOperator { FieldOperator(.pop(.first)) }

    /// Removes the last element of an array.
    public static var popLast: FieldOperator { FieldOperator(.pop(.last)) }

    /// Removes a member of a JSON object; `stats.wins` is a member of a nested object.
    public static func unsetMember(_ path: String) -> FieldOperator {
        FieldOperator(.unsetMember(MemberPath(unchecked: path)))
    }

    /// Adds records to the members of a relation; existing members remain.
    ///
    /// ```swift
    /// try RecordDraft("post/1", applying: ["likes": .relate([try RecordID("user/ann")])])
    /// ```
    ///
    /// At most 10,000 at once, and only records that the caller may read.
    public static func relate(_ members: [RecordID]) -> FieldOperator {
        FieldOperator(.relate(members))
    }

    /// Removes records from the members of a relation; at most 10,000 at once.
    public static func unrelate(_ members: [RecordID]) -> FieldOperator {
        FieldOperator(.unrelate(members))
    }

    /// Several operators on one field, in order.
    public static func all(_ operators: FieldOperator...) -> FieldOperator {
        FieldOperator(.all(operators))
    }
}

extension FieldOperator {
    /// The name on the wire.
    package var name: String {
        switch kind {
        case .compute(let arithmetic, _): arithmetic.rawValue
        case .unset: "unset"
        case .setOnInsert: "set_on_insert"
        case .push: "push"
        case .addToSet: "add_to_set"
        case .pull, .pullWhere: "pull"
        case .pop: "pop"
        case .setElement: "set_at"
        case .setMember, .computeMember: "set_path"
        case .unsetMember: "unset_path"
        case .relate: "relate"
        case .unrelate: "unrelate"
        case .all: "all"
        }
    }

    /// The single operators: those of `all`, or the operator itself.
    package var steps: [FieldOperator] {
        switch kind {
        case .all(let operators): operators
        default: [self]
        }
    }

    /// The type of a new field that this operator is the first to change; nil when the operator does not determine it.
    package var fieldType: FieldType? {
        switch kind {
        case .compute(_, let operand), .setOnInsert(let operand): operand.fieldType
        case .unset, .unrelate: nil
        case .relate(let members): members.first.map { .relation($0.type) }
        case .push, .addToSet, .pull, .pullWhere, .pop, .setElement, .setMember, .computeMember, .unsetMember: .json
        case .all(let operators):
            operators.reduce(nil as FieldType?) { type, next in
                guard let type else { return next.fieldType }
                return next.fieldType == .number && type == .integer ? .number : type
            }
        }
    }

    /// The reference that the operator may store.
    package var reference: RecordID? {
        switch kind {
        case .setOnInsert(.reference(let target)): target
        case .relate(let members): members.first
        case .all(let operators): operators.lazy.compactMap(\.reference).first
        default: nil
        }
    }
}
