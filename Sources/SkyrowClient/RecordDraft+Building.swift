import Foundation
import SkyrowJSON
public import SkyrowModel

extension RecordDraft {
    /// Creates a draft of a record by id; throws `108 InvalidArgument` when a text is not an id or a field name.
    ///
    /// ```swift
    /// let draft = try RecordDraft("note/1", ["title": "Milk", "stars": 3])
    /// let visit = try RecordDraft("note/1", applying: ["views": .increment(by: 1), "tags": .addToSet("read")])
    /// ```
    ///
    /// - Parameters:
    ///   - operators: changes that the service computes from stored values; a field has either an operator or a value.
    ///   - condition: what must hold for the stored record, on its own fields only; it does not hold when no record exists.
    public init(
        _ id: String,
        _ fields: KeyValuePairs<String, RecordValue> = [:],
        applying operators: KeyValuePairs<String, FieldOperator> = [:],
        access: AccessList? = nil,
        precondition: SavePrecondition? = nil,
        if condition: RecordPredicate? = nil
    ) throws(SkyrowError) {
        self.init(id: try RecordID(id), access: access, precondition: precondition, condition: condition)
        for (name, value) in fields { self.fields.append((try FieldName(name), value)) }
        for (name, change) in operators { self.operators.append((try FieldName(name), change)) }
    }

    /// Returns a draft of a new record with a fresh id.
    public static func new(
        _ type: String,
        _ fields: KeyValuePairs<String, RecordValue>,
        access: AccessList? = nil
    ) throws(SkyrowError) -> RecordDraft {
        try RecordDraft("\(type)/\(UUIDText())", fields, access: access)
    }
}
