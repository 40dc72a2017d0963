/// The container of a WebP image.
package enum WebPContainer {
    /// The chunks with pixels. Others have metadata, such as the place where a photo was taken.
    private static let pixels: Set<String> = ["VP8X", "VP8 ", "VP8L", "ALPH", "ANIM", "ANMF"]
    /// The bits of the first byte of `VP8X` that announce a colour profile, EXIF and XMP.
    private static let metadata: UInt8 = 0x2C

    /// Returns a file without its metadata and its colour profile; nil if it is not a complete WebP image.
    package static func withoutMetadata(_ file: [UInt8]) -> [UInt8]? {
        guard SniffedType.of(file.prefix(SniffedType.examinedBytes)) == ImageFormat.webp.rawValue else { return nil }
        var kept = Array(file[..<12])
        var offset = 12
        while offset < file.count {
            guard file.count - offset >= 8 else { return nil }
            let length = number(file[offset + 4..<offset + 8])
            // Chunks have an even length.
            let end = offset + 8 + length + length % 2
            guard end <= file.count else { return nil }
            let kind = String(decoding: file[offset..<offset + 4], as: UTF8.self)
            if pixels.contains(kind) {
                kept += file[offset..<end]
                if kind == "VP8X", length > 0 { kept[kept.count - (end - offset) + 8] &= ~metadata }
            }
            offset = end
        }
        for (place, shift) in zip(4..<8, stride(from: 0, to: 32, by: 8)) {
            kept[place] = UInt8(truncatingIfNeeded: (kept.count - 8) >> shift)
        }
        return kept
    }

    /// The number of four bytes, the least significant first.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
