import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowStore

/// A JSON text that a test knows to be good.
func json(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }

func jsonValue(_ text: String) -> RecordValue { .json(json(text)) }

extension FieldOperator {
    static func push(_ elements: String, at end: ArrayEnd = .last) -> FieldOperator {
        FieldOperator(.push(jsonValue(elements), at: end))
    }

    static func addToSet(_ elements: String) -> FieldOperator { FieldOperator(.addToSet(jsonValue(elements))) }

    static func pull(_ elements: String) -> FieldOperator { FieldOperator(.pull(jsonValue(elements))) }

    static func setElement(_ index: Int64, _ element: String) -> FieldOperator {
        FieldOperator(.setElement(index, jsonValue(element)))
    }

    static func setMember(_ path: String, _ value: String) -> FieldOperator {
        FieldOperator(.setMember(MemberPath(unchecked: path), json(value)))
    }

    static func setMember(_ path: String, _ arithmetic: Arithmetic, _ number: String) -> FieldOperator {
        FieldOperator(.computeMember(MemberPath(unchecked: path), arithmetic, json(number)))
    }
}

/// A draft with operators.
func draft(
    _ recordID: String,
    applying operators: [String: FieldOperator],
    _ fields: [String: RecordValue] = [:],
    access: AccessList? = nil,
    precondition: SavePrecondition? = nil
) -> RecordDraft {
    var draft = draft(recordID, fields, access: access, precondition: precondition)
    draft.operators = operators.sorted { $0.key < $1.key }.map { (field($0.key), $0.value) }
    return draft
}

extension RecordsFixture {
    /// Saves and returns what became of each record.
    func outcomes(
        _ drafts: [RecordDraft],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        atomic: Bool = false
    ) async throws -> [RecordOutcome] {
        try await store.save(drafts.map { .draft($0) }, in: scope, caller: caller, atomic: atomic)
    }

    /// Saves one record and returns the value of a field, nil when it has none; throws when the record is refused.
    @discardableResult
    func apply(_ change: FieldOperator, to name: String, of id: String, _ caller: Caller = .ann) async throws
        -> RecordValue?
    {
        try await outcomes([draft(id, applying: [name: change])], caller)[0].record.fields[field(name)]
    }
}

extension RecordValue {
    /// Whether both are one value: doubles to the bit, texts to the byte, and JSON as PostgreSQL compares it.
    func isIdentical(to other: RecordValue) -> Bool {
        switch (self, other) {
        case (.number(let a), .number(let b)): a.bitPattern == b.bitPattern
        case (.string(let a), .string(let b)): a.isSameText(as: b)
        case (.json(let a), .json(let b)):
            try! JSONDocument(a.utf8).withRoot { a in
                try! JSONDocument(b.utf8).withRoot { b in a.isSameValue(as: b) }
            }
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isIdentical(to: $1) }
        default: self == other
        }
    }
}
