import SkyrowJSON
import SkyrowModel

/// The header of a part of `multipart/form-data` (RFC 7578, 4), taken line by line.
struct MultipartHeader: Hashable {
    private(set) var name: String?
    private(set) var filename: String?
    /// As the client declares it, with its parameters.
    private(set) var contentType: String?

    /// Upper bound on the bytes of a part's name.
    static let maximumName = 255
    /// Upper bound on the bytes of a file's name, of which the whole path may be sent.
    static let maximumFilename = 1024

    /// Takes a line without its CR LF, which is a field.
    mutating func take(_ line: [UInt8]) throws(MultipartFault) {
        // Lines that continue others are obsolete, and begin with a space, which no name of a field contains.
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0, line[..<colon].allSatisfy(\.isVisible),
            let text = String(validating: line[(colon + 1)...], as: UTF8.self), !line.contains(where: \.isControl)
        else { throw .malformedHeader }
        switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
        case "content-disposition": try takeDisposition(text)
        case "content-type":
            guard contentType == nil else { throw .malformedHeader }
            contentType = String(Substring(text).trimmingSpaces)
        case "content-transfer-encoding":
            guard ["binary", "8bit", "7bit"].contains(Substring(text).trimmingSpaces.lowercased()) else {
                throw .encodedContent
            }
        default: break
        }
    }

    private mutating func takeDisposition(_ text: String) throws(MultipartFault) {
        guard name == nil, let field = ParameterizedField(text), field.value == "form-data", let name = field["name"]
        else { throw .malformedHeader }
        guard name.utf8.count <= Self.maximumName else { throw .nameTooLong }
        self.name = name
        filename = field["filename*"].flatMap(Self.decoded) ?? field["filename"]
        guard filename?.utf8.count ?? 0 <= Self.maximumFilename else { throw .nameTooLong }
    }

    /// Decodes `UTF-8''K%C3%A4tzchen.png` (RFC 8187, 3.2); nil for another character set, and for a malformed text.
    private static func decoded(_ text: String) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, Substring(parts[0]).lowercased() == "utf-8" else { return nil }
        var bytes: [UInt8] = []
        var rest = parts[2]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value)
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        guard !bytes.contains(where: \.isControl) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether it is a visible ASCII character.
    fileprivate var isVisible: Bool { (0x21...0x7E).contains(self) }

    /// Whether it is an ASCII control character other than a tab.
    fileprivate var isControl: Bool { self < 0x20 && self != UInt8(ascii: "\t") || self == 0x7F }
}
