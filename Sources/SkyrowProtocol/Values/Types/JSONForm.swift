import SkyrowJSON
package import SkyrowModel

struct JSONForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let value = CSVText.json(text) else { throw FieldFault("is not a JSON array or object") }
        // A JSON column stores all digits of `1e131071`.
        guard let document = try? JSONDocument(value.utf8),
            document.withRoot({ root in root.descendants.allSatisfy { $0.plainLength <= WireLimits.numberLength } })
        else {
            throw FieldFault("has a number with more than \(WireLimits.numberLength) characters")
        }
        return .json(value)
    }

    func suggests(_ text: String) -> Bool { CSVText.json(text) != nil }
}

extension CSVText {
    /// Parses a JSON array or object.
    package static func json(_ text: String) -> JSONText? {
        guard let first = text.utf8.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
        return try? JSONDocument(Array(text.utf8)).withRoot { $0.jsonText }
    }
}
