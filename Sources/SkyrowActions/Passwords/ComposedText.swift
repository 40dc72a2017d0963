@_spi(_Unicode) import Swift

extension String {
    /// The UTF-8 of its composed form (NFC): the same bytes however a device composes an accent.
    ///
    /// The standard library has it for comparing strings but does not export it. Foundation's version needs ICU, which takes 30
    /// MB.
    var composedUTF8: [UInt8] {
        // ASCII is composed already.
        guard utf8.contains(where: { $0 >= 0x80 }) else { return Array(utf8) }
        return Array(String(String.UnicodeScalarView(_nfc)).utf8)
    }
}
