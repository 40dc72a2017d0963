import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// The error that reading a text ends in; a text that can be read fails the test.
func refusal<R>(
    _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (JSONView) throws -> R
) throws -> SkyrowError? {
    do {
        _ = try readJSON(text, body)
        Issue.record("\(text) was accepted", sourceLocation: sourceLocation)
        return nil
    } catch let error as SkyrowError {
        return error
    }
}

extension SkyrowError {
    /// The names in `info.arguments`.
    var arguments: [String] {
        guard case .list(let list) = info["arguments"] else { return [] }
        return list.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }
}

func recordID(_ text: String) -> RecordID {
    try! RecordID(text)
}

func fieldName(_ text: String) -> FieldName {
    try! FieldName(text)
}

func typeName(_ text: String) -> RecordTypeName {
    try! RecordTypeName(text)
}

func keyPath(_ text: String) -> FieldPath {
    try! FieldPath(text)
}

extension RecordDraft {
    /// A draft whose id and names are known to be good.
    init(
        _ id: String,
        access: AccessList? = nil,
        _ fields: [(String, RecordValue)] = [],
        precondition: SavePrecondition? = nil
    ) {
        self.init(
            id: recordID(id),
            access: access,
            fields: fields.map { (fieldName($0), $1) },
            precondition: precondition
        )
    }
}
