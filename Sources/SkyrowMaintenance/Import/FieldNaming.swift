import SkyrowModel

/// Returns a field name for a column name of a file, or nil if nothing is left of it.
///
/// Each run of invalid characters becomes an underscore, underscores at both ends are removed, a leading digit gets the
/// prefix `field_`, and the result is truncated to 63 bytes: `"Länge (m)"` becomes `L_nge_m`.
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
