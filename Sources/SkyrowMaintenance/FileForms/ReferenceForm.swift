import SkyrowModel

struct ReferenceForm: FileForm {
    let target: RecordTypeName

    func value(inText text: String) throws(FieldFault) -> RecordValue {
        let prefix = "\(target)/"
        let id = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        do {
            return .reference(try RecordID(type: target, id: id))
        } catch {
            throw FieldFault("is not a record id")
        }
    }

    func value(of other: RecordValue) throws(FieldFault) -> RecordValue? {
        if case .string(let text) = other { try value(inText: text) } else { nil }
    }
}
