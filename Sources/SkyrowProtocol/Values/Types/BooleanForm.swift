import SkyrowModel

struct BooleanForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        switch text.lowercased() {
        case "true", "t", "yes", "1": return .boolean(true)
        case "false", "f", "no", "0": return .boolean(false)
        default: throw FieldFault("is neither true nor false")
        }
    }

    func suggests(_ text: String) -> Bool { CSVText.boolean(text) != nil }
}

extension CSVText {
    /// Parses `true` or `false` in lower, upper or title case.
    static func boolean(_ text: String) -> Bool? {
        switch text {
        case "true", "True", "TRUE": true
        case "false", "False", "FALSE": false
        default: nil
        }
    }
}
