/// A change of one field that the service makes of the value that is stored, in the statement that saves the record.
///
/// ```swift
/// try RecordDraft("post/1", ["title": "Hello"], applying: ["views": .increment(by: 1), "tags": .push("swift")])
/// ```
///
/// Nothing is read before, so that of changes that many clients make at once none is lost. The operators of arrays and
/// objects are made by functions of `SkyrowClient`.
public struct FieldOperator: Hashable, Sendable {
    /// What is made of a stored value and an operand.
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

    /// The operators; members are JSON texts, and so are arrays and elements until they are of the type of a field.
    package enum Kind: Hashable, Sendable {
        /// `inc`, `mul`, `min` and `max`
        case compute(Arithmetic, RecordValue)
        case unset
        case setOnInsert(RecordValue)
        /// Elements as an array.
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
        /// At least one, none of them `all`.
        case all([FieldOperator])
    }

    package let kind: Kind

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// How much one record may ask.
    package enum Limits {
        /// Operators of one record, those in `all` counted one by one.
        package static let count = 256
        /// Operators of one record with a predicate.
        package static let predicates = 1
        /// Operators in `all`.
        package static let all = 32
        /// Elements or members of an operand, and elements of an array that an operator makes longer.
        package static let elements = 10_000
        /// Bytes of a JSON value after an operator, as PostgreSQL writes it, and of the texts of an array together.
        package static let bytes = 1_048_576
        /// Names of a path.
        package static let steps = 16
        /// Arrays and objects inside each other in a value, as many as a request can send and a response can have.
        package static let depth = 60
        /// Characters of a number in a JSON value after an operator, written without an exponent.
        package static let digits = 400
    }
}

/// A path from a JSON object to a member of it, or of objects inside: `stats.wins`.
package struct MemberPath: Hashable, Sendable {
    /// The names of the members; at least one.
    package let steps: [String]

    /// Reads names that are joined by dots.
    ///
    /// Throws `108 InvalidArgument` for an empty name, for one with NUL, and for more than 16 names.
    package init(_ text: String) throws(SkyrowError) {
        self.init(unchecked: text)
        guard steps.count <= FieldOperator.Limits.steps else {
            throw .invalidArgument("A path has at most \(FieldOperator.Limits.steps) names.")
        }
        guard steps.allSatisfy({ !$0.isEmpty && !$0.hasNUL }) else {
            throw .invalidArgument("A path is names without NUL, joined by dots.")
        }
    }

    /// Takes a path as it is written in a program; the service refuses a malformed one.
    package init(unchecked text: String) {
        steps = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    package var description: String { steps.joined(separator: ".") }

    /// Paths are the same when their bytes are, as in PostgreSQL.
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

    /// Keeps the lesser of the stored value and another number, instant or string.
    public static func min(_ value: RecordValue) -> FieldOperator {
        FieldOperator(.compute(.minimum, value))
    }

    /// Keeps the greater of the stored value and another number, instant or string.
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

    /// Gives the field a value when the record is new, and leaves it alone otherwise.
    public static func setOnInsert(_ value: RecordValue) -> FieldOperator {
        FieldOperator(.setOnInsert(value))
    }

    /// Removes the first element of an array.
    public static var popFirst: FieldOperator { FieldOperator(.pop(.first)) }

    /// Removes the last element of an array.
    public static var popLast: FieldOperator { FieldOperator(.pop(.last)) }

    /// Removes a member of a JSON object, `stats.wins` that of an object inside.
    public static func unsetMember(_ path: String) -> FieldOperator {
        FieldOperator(.unsetMember(MemberPath(unchecked: path)))
    }

    /// Adds records to the members of a relation; those that are members stay it.
    ///
    /// ```swift
    /// try RecordDraft("post/1", applying: ["likes": .relate([try RecordID("user/ann")])])
    /// ```
    ///
    /// At most 10,000 at once, which the caller may read.
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

    /// The operators one by one: those of `all`, or the operator itself.
    package var steps: [FieldOperator] {
        switch kind {
        case .all(let operators): operators
        default: [self]
        }
    }

    /// The type of a new field that first gets this operator; nil where it has no value to tell it.
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

    /// The reference that it may store.
    package var reference: RecordID? {
        switch kind {
        case .setOnInsert(.reference(let target)): target
        case .relate(let members): members.first
        case .all(let operators): operators.lazy.compactMap(\.reference).first
        default: nil
        }
    }
}
