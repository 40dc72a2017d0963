/// The formats of images whose size is known from their first bytes.
package enum ImageFormat: String, Hashable, Sendable {
    case png = "image/png"
    case jpeg = "image/jpeg"
    case gif = "image/gif"
    case webp = "image/webp"
    case avif = "image/avif"

    /// Whether images of the format have thumbnails.
    package var hasThumbnails: Bool { self != .avif }
}

/// What the first bytes of an image say about it.
///
/// ```swift
/// ImageHeader(bytes)?.size   // 4032 × 3024
/// ```
///
/// It is nil for bytes that are no image of a known format, and for a header that contradicts itself or is not within the examined
/// bytes. Nothing is decoded, and the time is proportional to the bytes.
package struct ImageHeader: Hashable, Sendable {
    /// How many bytes of a file are examined: JPEG has up to 64 KB each of a preview, a colour profile and others before its size.
    package static let examinedBytes = 256 << 10

    package let format: ImageFormat
    /// As a browser shows the image.
    package let size: PixelSize

    /// Reads the header of a file that begins with these bytes.
    package init?(_ first: some Collection<UInt8>) {
        let bytes = ImageBytes(Array(first.prefix(Self.examinedBytes)))
        guard let format = SniffedType.of(bytes.bytes).flatMap({ ImageFormat(rawValue: $0) }) else { return nil }
        let size =
            switch format {
            case .png: bytes.sizeOfPNG
            case .jpeg: bytes.sizeOfJPEG
            case .gif: bytes.sizeOfGIF
            case .webp: bytes.sizeOfWebP
            case .avif: bytes.sizeOfAVIF
            }
        let range = 1...Int(Int32.max)
        guard let size, range.contains(size.width), range.contains(size.height) else { return nil }
        self.format = format
        self.size = size
    }
}

/// The first bytes of a file; what is behind them reads as nil.
private struct ImageBytes {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private func byte(_ offset: Int) -> Int? {
        bytes.indices.contains(offset) ? Int(bytes[offset]) : nil
    }

    /// A number of some bytes, the most significant first.
    private func big(_ count: Int, _ offset: Int) -> Int? {
        number(offset..<offset + count)
    }

    /// A number of some bytes, the least significant first.
    private func little(_ count: Int, _ offset: Int) -> Int? {
        number((offset..<offset + count).reversed())
    }

    private func number(_ offsets: some Collection<Int>) -> Int? {
        var number = 0
        for offset in offsets {
            guard let byte = byte(offset) else { return nil }
            number = number << 8 | byte
        }
        return number
    }

    private func has(_ text: String, _ offset: Int) -> Bool {
        bytes.count - offset >= text.utf8.count && bytes[offset...].starts(with: text.utf8)
    }

    private func size(_ width: Int?, _ height: Int?) -> PixelSize? {
        guard let width, let height else { return nil }
        return PixelSize(width: width, height: height)
    }

    // MARK: - PNG

    /// The first chunk has the size.
    var sizeOfPNG: PixelSize? {
        guard big(4, 8) == 13, has("IHDR", 12) else { return nil }
        return size(big(4, 16), big(4, 20))
    }

    // MARK: - GIF

    /// The size of the screen, or that of a first frame that exceeds it, since decoders enlarge the screen.
    var sizeOfGIF: PixelSize? {
        guard let screen = size(little(2, 6), little(2, 8)), let flags = byte(10) else { return nil }
        let palette = flags & 0x80 == 0 ? 0 : 3 << (flags & 7 + 1)
        var offset = 13 + palette
        while let kind = byte(offset) {
            switch kind {
            case 0x2C:
                guard let left = little(2, offset + 1), let top = little(2, offset + 3),
                    let frame = size(little(2, offset + 5), little(2, offset + 7))
                else { return screen }
                return size(max(screen.width, left + frame.width), max(screen.height, top + frame.height))
            case 0x21:
                // An extension: its kind, and blocks up to an empty one.
                offset += 2
                while let length = byte(offset), length > 0 { offset += 1 + length }
                offset += 1
            default:
                return screen
            }
        }
        return screen
    }

    // MARK: - WebP

    /// The first chunk is the image, or says how large the canvas is.
    var sizeOfWebP: PixelSize? {
        if has("VP8 ", 12) {
            // A key frame.
            guard let tag = byte(20), tag & 1 == 0, big(3, 23) == 0x9D_01_2A else { return nil }
            return size(little(2, 26).map { $0 & 0x3FFF }, little(2, 28).map { $0 & 0x3FFF })
        }
        if has("VP8L", 12) {
            guard byte(20) == 0x2F, let bits = little(4, 21) else { return nil }
            return size(bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        guard has("VP8X", 12) else { return nil }
        return size(little(3, 24).map { $0 + 1 }, little(3, 27).map { $0 + 1 })
    }

    // MARK: - JPEG

    /// The size stands in the segment of the frame, behind those of applications.
    var sizeOfJPEG: PixelSize? {
        var offset = 2
        var isTurned: Bool?
        while byte(offset) == 0xFF, let marker = byte(offset + 1) {
            switch marker {
            case 0xFF:
                // A byte that fills.
                offset += 1
            case 0x01, 0xD0...0xD7:
                offset += 2
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard let frame = size(big(2, offset + 7), big(2, offset + 5)) else { return nil }
                return isTurned == true ? PixelSize(width: frame.height, height: frame.width) : frame
            case 0xD8...0xDA:
                return nil
            default:
                guard let length = big(2, offset + 2), length >= 2 else { return nil }
                let end = offset + 2 + length
                if marker == 0xE1, isTurned == nil { isTurned = orientationTurns(in: offset + 4..<end) }
                offset = end
            }
        }
        return nil
    }

    /// Whether the orientation in an EXIF segment exchanges width and height; nil if the segment has none.
    private func orientationTurns(in segment: Range<Int>) -> Bool? {
        guard has("Exif\0\0", segment.lowerBound) else { return nil }
        let start = segment.lowerBound + 6
        let isLittle = has("II*\0", start)
        guard isLittle || has("MM\0*", start) else { return nil }
        func number(_ count: Int, _ offset: Int) -> Int? {
            guard offset + count <= segment.upperBound else { return nil }
            return isLittle ? little(count, offset) : big(count, offset)
        }
        guard let directory = number(4, start + 4), let count = number(2, start + directory) else { return nil }
        for entry in 0..<count {
            let offset = start + directory + 2 + 12 * entry
            guard let tag = number(2, offset) else { return nil }
            if tag == 0x0112 { return number(2, offset + 8).map { (5...8).contains($0) } }
        }
        return nil
    }

    // MARK: - AVIF

    /// The largest image, since the others are tiles, previews and transparency, unless a property turns it.
    var sizeOfAVIF: PixelSize? {
        guard let meta = content(of: "meta", in: 0..<bytes.count),
            let properties = content(of: "iprp", in: meta.dropFirst(4)),
            let container = content(of: "ipco", in: properties)
        else { return nil }
        var largest: PixelSize?
        var isTurned = false
        forEachBox(in: container) { kind, content in
            if has("ispe", kind), let image = size(big(4, content.lowerBound + 4), big(4, content.lowerBound + 8)),
                image.pixels > largest?.pixels ?? 0
            {
                largest = image
            } else if has("irot", kind), let angle = byte(content.lowerBound), angle & 1 == 1 {
                isTurned = true
            }
            return true
        }
        guard let largest, isTurned else { return largest }
        return PixelSize(width: largest.height, height: largest.width)
    }

    /// Returns the place of what the first box of a kind contains.
    private func content(of kind: String, in range: Range<Int>) -> Range<Int>? {
        var found: Range<Int>?
        forEachBox(in: range) { place, content in
            if has(kind, place) { found = content }
            return found == nil
        }
        return found
    }

    /// Passes the places of the kind and the content of each box until `body` returns false.
    private func forEachBox(in range: Range<Int>, _ body: (_ kind: Int, _ content: Range<Int>) -> Bool) {
        var offset = range.lowerBound
        // Sizes of 64 bits are for films.
        while offset < range.upperBound, let length = big(4, offset), length >= 8 {
            let end = min(offset + length, range.upperBound)
            guard offset + 8 <= end, body(offset + 4, offset + 8..<end) else { return }
            offset += length
        }
    }
}
