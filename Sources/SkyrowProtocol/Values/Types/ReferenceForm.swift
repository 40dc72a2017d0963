import SkyrowJSON
import SkyrowModel

// The JSON form of a reference: `{"$type":"ref","$id":"type/id"}`, and on input the newer one with `$recordType` and
// `$recordID`.

extension RecordValue {
    init(reference json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        do throws(SkyrowError) {
            if let type = json["$recordType"]?.string, let id = json["$recordID"]?.string {
                self = .reference(try RecordID(type: RecordTypeName(type), id: id))
            } else if let id = json["$id"], id.isString {
                self = .reference(try RecordID(json: id))
            } else {
                throw SkyrowError.invalidArgument("A reference must have the member $id with \"type/id\".")
            }
        } catch {
            throw .invalidArgument(error.message, field())
        }
    }
}

extension RecordID {
    /// Reads the string `"type/id"`, without a copy of the whole when it has no escapes.
    ///
    /// - Parameter isReadable: whether it is of a record that is read, which a role may be.
    init(json: JSONView, isReadable: Bool = false) throws(SkyrowError) {
        if json.kind == .string {
            try self.init(utf8: UnsafeRawBufferPointer(json.slice), isReadable: isReadable)
        } else {
            let text = json.string ?? ""
            self = try isReadable ? RecordID(readable: text) : RecordID(text)
        }
    }
}

extension JSONWriter {
    func reference(_ type: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"ref\",\"$id\":")
        recordID(type, id)
        append("}")
    }

    /// `"type/id"` as a plain string.
    func recordID(_ type: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) {
        separate()
        append(UInt8(ascii: "\""))
        append(type.assumingMemoryBound(to: UInt8.self))
        append(UInt8(ascii: "/"))
        escaped(id)
        append(UInt8(ascii: "\""))
    }
}

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
