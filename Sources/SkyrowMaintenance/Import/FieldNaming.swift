import SkyrowModel

/// Makes a field's name from what a file calls it.
///
/// Each run of characters that a name may not have becomes one underscore, underscores at either end go, a name that
/// begins with a digit gets `field_` before it, and what is longer than 63 bytes is cut: `"Länge (m)"` becomes `L_nge_m`.
/// nil when nothing is left.
func fieldName(from header: String) -> FieldName? {
    var bytes: [UInt8] = []
    for byte in header.utf8 {
        let isWordly =
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        if isWordly {
            bytes.append(byte)
        } else if let last = bytes.last, last != UInt8(ascii: "_") || byte == UInt8(ascii: "_") {
            bytes.append(UInt8(ascii: "_"))
        }
    }
    while bytes.last == UInt8(ascii: "_") { bytes.removeLast() }
    if let first = bytes.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
        bytes = Array("field_".utf8) + bytes
    }
    return try? FieldName(String(decoding: bytes.prefix(63), as: UTF8.self))
}
