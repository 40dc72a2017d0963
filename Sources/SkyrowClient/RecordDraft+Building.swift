import Foundation
import SkyrowJSON
public import SkyrowModel

extension RecordDraft {
    /// A draft of a record by id; throws `108 InvalidArgument` when a text is no id or name.
    ///
    /// ```swift
    /// let draft = try RecordDraft("note/1", ["title": "Milk", "stars": 3])
    /// ```
    public init(
        _ id: String,
        _ fields: KeyValuePairs<String, RecordValue>,
        access: AccessList? = nil,
        precondition: SavePrecondition? = nil
    ) throws(SkyrowError) {
        self.init(id: try RecordID(id), access: access, precondition: precondition)
        for (name, value) in fields { self.fields.append((try FieldName(name), value)) }
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
