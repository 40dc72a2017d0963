import SkyrowJSON
package import SkyrowModel
import SkyrowWire

/// What the text of a CSV field means.
///
/// Only spellings that name one value of one type are recognised: `007` and `+1` stay text, since a number would not give
/// them back.
enum CSVText {
    /// A whole number in its one usual spelling that fits 64 bits.
    static func integer(_ text: String) -> Int64? {
        isWhole(text) ? Int64(text) : nil
    }

    /// True for `-?[1-9][0-9]*` and `0`, of any length.
    static func isWhole(_ text: String) -> Bool {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard let first = digits.first, digits.allSatisfy(isDigit) else { return false }
        return first != UInt8(ascii: "0") || text == "0"
    }

    /// A number with the grammar of JSON, but `.5` is one too.
    static func number(_ text: String) -> Double? {
        var rest = text.utf8[...]
        func digits() -> Int {
            let count = rest.prefix { isDigit($0) }.count
            rest.removeFirst(count)
            return count
        }
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let leadsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole <= 1 || !leadsWithZero else { return nil }
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = digits()
            guard fraction > 0 else { return nil }
        }
        guard whole + fraction > 0 else { return nil }
        if let exponent = rest.first, exponent | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard digits() > 0 else { return nil }
        }
        guard rest.isEmpty, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// `true` or `false` in lower, upper or title case.
    static func boolean(_ text: String) -> Bool? {
        switch text {
        case "true", "True", "TRUE": true
        case "false", "False", "FALSE": false
        default: nil
        }
    }

    /// A day, which means its midnight, or an instant of ISO 8601 with `T` or a space; without an offset it is UTC.
    static func instant(_ text: String) -> Timestamp? {
        var spelling = Array(text.utf8)
        guard spelling.count >= 10, spelling[4] == UInt8(ascii: "-") else { return nil }
        if spelling.count == 10 { spelling += Array("T00:00:00Z".utf8) }
        if spelling[10] == UInt8(ascii: " ") { spelling[10] = UInt8(ascii: "T") }
        // "T12:30" and "T12:30Z" lack their seconds.
        if spelling.count == 16 || spelling.count > 16 && spelling[16] != UInt8(ascii: ":") {
            spelling.insert(contentsOf: Array(":00".utf8), at: 16)
        }
        let time = spelling[11...]
        let hasOffset = time.contains {
            $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 | 0x20 == UInt8(ascii: "z")
        }
        if !hasOffset { spelling.append(UInt8(ascii: "Z")) }
        // "+01" and "+0100" for "+01:00", as PostgreSQL writes them.
        if let sign = time.lastIndex(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }) {
            switch spelling.count - sign {
            case 3: spelling += Array(":00".utf8)
            case 5: spelling.insert(UInt8(ascii: ":"), at: sign + 3)
            default: break
            }
        }
        return try? Timestamp(rfc3339: String(decoding: spelling, as: UTF8.self))
    }

    /// `NaN`, `Infinity` or `-Infinity`, which a column can hold and a type is not inferred from.
    static func specialNumber(_ text: String) -> Double? {
        switch text {
        case "NaN": .nan
        case "Infinity": .infinity
        case "-Infinity": -.infinity
        default: nil
        }
    }

    /// PostgreSQL's spelling of bytes: `\x` and an even number of hexadecimal digits.
    static func bytes(_ text: String) -> [UInt8]? {
        text.hasPrefix("\\x") ? Hexadecimal.bytes(text.utf8.dropFirst(2)) : nil
    }

    /// A JSON array or object.
    static func json(_ text: String) -> JSONText? {
        guard let first = text.utf8.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
        return try? JSONDocument(Array(text.utf8)).withRoot { $0.jsonText }
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

extension FieldType {
    /// Reads a text for a column of this type; throws why it cannot.
    package func value(inText text: String) throws(FieldFault) -> RecordValue {
        switch self {
        case .string:
            return .string(text)
        case .integer:
            guard let value = Int64(text) else { throw FieldFault("is no integer of 64 bits") }
            return .integer(value)
        case .number:
            guard let value = CSVText.number(text) ?? CSVText.specialNumber(text) else {
                throw FieldFault("is no number")
            }
            return .number(value)
        case .boolean:
            switch text.lowercased() {
            case "true", "t", "yes", "1": return .boolean(true)
            case "false", "f", "no", "0": return .boolean(false)
            default: throw FieldFault("is neither true nor false")
            }
        case .datetime:
            // The years before 1 and after 9999 have a sign, and there are two infinities.
            guard let value = CSVText.instant(text) ?? (try? Timestamp(rfc3339: text)) else {
                throw FieldFault("is no date or instant of ISO 8601")
            }
            return .datetime(value)
        case .json:
            guard let value = CSVText.json(text) else { throw FieldFault("is no JSON array or object") }
            return .json(value)
        case .reference(let type):
            let prefix = "\(type)/"
            let id = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
            do {
                return .reference(try RecordID(type: type, id: id))
            } catch {
                throw FieldFault("is no id of a record")
            }
        case .sequence:
            guard let value = Int64(text) else { throw FieldFault("is no integer of 64 bits") }
            return .integer(value)
        case .bytes:
            guard let value = CSVText.bytes(text) else { throw FieldFault("is not \\x and hexadecimal digits") }
            return .bytes(value)
        case .unknown:
            throw FieldFault("goes to a column whose SQL type Skyrow does not write")
        }
    }
}

/// Why a value does not fit a field; a clause that follows the field's name.
package struct FieldFault: Error, Hashable, Sendable {
    var reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
