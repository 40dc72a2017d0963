import Foundation
import SkyrowJSON
public import SkyrowModel

extension RecordDraft {
    /// A draft of a record by id; throws `108 InvalidArgument` when a text is no id or name.
    ///
    /// ```swift
    /// let draft = try RecordDraft("note/1", ["title": "Milk", "stars": 3])
    /// let visit = try RecordDraft("note/1", applying: ["views": .increment(by: 1), "tags": .addToSet("read")])
    /// ```
    ///
    /// - Parameters:
    ///   - operators: changes that the service makes of what is stored, none of a field that gets a value.
    ///   - condition: what must hold of the stored record, of its own fields only; without a record it does not hold.
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

    /// A draft of a record that does not exist yet, with an id of its own.
    public static func new(
        _ type: String,
        _ fields: KeyValuePairs<String, RecordValue>,
        access: AccessList? = nil
    ) throws(SkyrowError) -> RecordDraft {
        try RecordDraft("\(type)/\(UUIDText())", fields, access: access)
    }
}
