/// The identity of a JSON value, as bytes that can be kept in a set.
///
/// Values are the same as in PostgreSQL's `jsonb`: the order of members and white space do not count, the last of members with
/// the same name does, numbers are compared by their decimal value and strings by their bytes. `1` and `1.0` are the same value;
/// `"é"` of one and of two code points are not.
package struct JSONIdentity: Hashable, Sendable {
    private let bytes: [UInt8]

    package init(_ json: JSONView) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.source.count)
        json.appendIdentity(to: &bytes)
        self.bytes = bytes
    }
}

extension JSONView {
    /// Whether another value is the same, by ``JSONIdentity``.
    package func isSameValue(as other: JSONView) -> Bool {
        switch (kind, other.kind) {
        case (.null, .null), (.true, .true), (.false, .false):
            return true
        case (.string, .string):
            return slice.elementsEqual(other.slice)
        case (.string, .escapedString), (.escapedString, .string), (.escapedString, .escapedString),
            (.integer, .integer), (.integer, .number), (.number, .integer), (.number, .number), (.object, .object):
            return JSONIdentity(self) == JSONIdentity(other)
        case (.array, .array):
            guard count == other.count else { return false }
            return zip(elements, other.elements).allSatisfy { $0.isSameValue(as: $1) }
        default:
            return false
        }
    }

    /// Appends the kind and the length of each value before its contents, so that no two values have the same bytes.
    fileprivate func appendIdentity(to bytes: inout [UInt8]) {
        switch kind {
        case .null: bytes.append(UInt8(ascii: "n"))
        case .false: bytes.append(UInt8(ascii: "f"))
        case .true: bytes.append(UInt8(ascii: "t"))
        case .integer, .number:
            bytes.append(UInt8(ascii: "#"))
            JSONDecimal(self)?.appendIdentity(to: &bytes)
        case .string, .escapedString:
            bytes.append(UInt8(ascii: "s"))
            append(string ?? "", to: &bytes)
        case .array:
            bytes.append(UInt8(ascii: "a"))
            append(count, to: &bytes)
            for element in elements { element.appendIdentity(to: &bytes) }
        case .object:
            let members = uniqueMembers.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            bytes.append(UInt8(ascii: "o"))
            append(members.count, to: &bytes)
            for (name, value) in members {
                append(name, to: &bytes)
                value.appendIdentity(to: &bytes)
            }
        }
    }

    private func append(_ text: String, to bytes: inout [UInt8]) {
        append(text.utf8.count, to: &bytes)
        bytes.append(contentsOf: text.utf8)
    }

    private func append(_ count: Int, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: count.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
