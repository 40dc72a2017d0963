import SkyrowModel

@testable import SkyrowQuery

/// Record types in memory: a note of every type of field, which refers to a category and to another note.
struct TestSchema: QuerySchema {
    var types: [RecordTypeName: TestType]

    subscript(type: RecordTypeName) -> TestType? { types[type] }

    static let notes = TestSchema(
        types: Dictionary(
            uniqueKeysWithValues: [
                TestType(
                    "note",
                    [
                        "title": .string, "stars": .integer, "score": .number, "done": .boolean, "due": .datetime,
                        "tags": .json, "data": .bytes, "price": .unknown("money"), "serial": .sequence, "photo": .asset,
                        "category": .reference(type("category")), "next": .reference(type("note")),
                        "lost": .reference(type("nothing")), "labels": .array(.string), "ratings": .array(.integer),
                        "categories": .array(.reference(type("category"))), "readers": .array(.reference(.user)),
                        "others": .array(.reference(type("note"))), "ghosts": .array(.reference(type("nothing"))),
                    ]
                ),
                TestType("category", ["name": .string, "rank": .integer]),
                TestType("user", ["username": .string, "email": .string], hidden: ["phone"], ownersOnly: ["email"]),
            ].map { ($0.name, $0) }
        )
    )

    var note: TestType { types[type("note")]! }
}

struct TestType: QueryRecordType {
    var name: RecordTypeName
    var fields: [FieldName: FieldType]
    var hidden: Set<FieldName>
    var ownersOnly: Set<FieldName>
    var classRules: ClassRules?

    init(_ name: String, _ fields: [String: FieldType], hidden: [String] = [], ownersOnly: [String] = []) {
        self.name = type(name)
        self.fields = Dictionary(uniqueKeysWithValues: fields.map { (field($0), $1) })
        self.hidden = Set(hidden.map { field($0) })
        self.ownersOnly = Set(ownersOnly.map { field($0) })
    }

    func queryField(_ name: FieldName) -> QueryField? {
        guard let type = fields[name], let position = fields.keys.sorted().firstIndex(of: name) else { return nil }
        return QueryField(position: position, type: type)
    }

    var fieldPositions: [Int] { Array(fields.indices.enumerated().map(\.offset)) }

    var referenceFields: [FieldName] {
        fields.keys.sorted().filter { if case .reference? = fields[$0] { true } else { false } }
    }

    func isHidden(_ name: FieldName) -> Bool { hidden.contains(name) }

    func standing(_ asking: FieldAsking, of name: FieldName, for caller: FieldAccess) -> AccessCondition {
        !caller.isUnrestricted && ownersOnly.contains(name) ? .owned : .always
    }

    func collation(of column: ReservedColumn) -> TextCollation { .bytes }
}

func type(_ name: String) -> RecordTypeName { try! RecordTypeName(name) }
func field(_ name: String) -> FieldName { try! FieldName(name) }
func id(_ text: String) -> RecordID { try! RecordID(text) }
func path(_ text: String) -> KeyPath { try! KeyPath(text) }

extension Caller {
    static let ann = Caller(kind: .user("ann"))
    static let master = Caller(kind: .master(actingAs: nil))
}

extension Predicate {
    static func compare(_ comparison: ComparisonOperator, _ name: String, _ value: RecordValue) -> Predicate {
        .comparison(comparison, .keyPath(path(name)), .value(value))
    }

    static func isIn(_ name: String, _ values: [RecordValue]) -> Predicate {
        .comparison(.in, .keyPath(path(name)), .list(values))
    }

    static func list(_ comparison: ComparisonOperator, _ name: String, _ values: [RecordValue]) -> Predicate {
        .comparison(comparison, .keyPath(path(name)), .list(values))
    }

    static func size(_ name: String, _ comparison: ComparisonOperator, _ value: RecordValue) -> Predicate {
        .comparison(comparison, .function(.size, path(name)), .value(value))
    }

    /// A value inside JSON that is read as one of a type.
    static func inside(
        _ name: String,
        _ type: JSONValueType,
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) -> Predicate {
        var inside = path(name)
        inside.jsonType = type
        return .comparison(comparison, .keyPath(inside), .value(value))
    }

    static func found(
        _ name: String,
        in type: String,
        _ predicate: Predicate? = nil,
        key: String? = nil,
        not isNegated: Bool = false
    ) -> Predicate {
        let query = Subquery(type: SkyrowQueryTests.type(type), predicate: predicate, key: key.map { path($0) })
        return .found(.keyPath(path(name)), by: query, isNegated: isNegated)
    }

    static func any(_ name: String, _ predicate: Predicate) -> Predicate { .elements(path(name), .any, predicate) }
    static func all(_ name: String, _ predicate: Predicate) -> Predicate { .elements(path(name), .all, predicate) }

    static func paths(_ comparison: ComparisonOperator, _ left: String, _ right: String) -> Predicate {
        .comparison(comparison, .keyPath(path(left)), .keyPath(path(right)))
    }
}

extension RecordAccess {
    /// What a caller reads in a database.
    convenience init(_ caller: Caller, in scope: DatabaseScope = .everyone) {
        self.init(in: scope, for: .reading, by: caller)
    }
}
