import Foundation

/// Images for tests: real ones that decoders read, and their parts.
///
/// The real ones have 300 × 200 pixels of one colour.
package enum TestImage {
    package static let jpeg = bytes(
        """
        /9j/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PH\
        ZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCADIASwDASIAAhEBAxEB/8QAFQAB\
        AQAAAAAAAAAAAAAAAAAAAAL/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAAAAAAAAAAAAAAAAME/8QAFBEBAAAAAAAAAAAAAAAAAA\
        AAAP/aAAwDAQACEQMRAD8AgBBsAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAf//Z
        """
    )
    package static let gif = bytes(
        """
        R0lGODlhLAHIAIAAAEdwTMhQKCH/C05FVFNDQVBFMi4wAwEAAAAh+QQFAAAAACwAAAAALAHIAAAC/4yPqcvtD6OctNqLs968+w+G4kiW5omm6s\
        q27gvH8kzX9o3n+s73/g8MCofEovGITCqXzKbzCY1Kp9Sq9YrNarfcrvcLDovH5LL5jE6r1+y2+w2Py+f0uv2Oz+v3/L7/DxgoOEhYaHiImKi4\
        yNjo+AgZKTlJWWl5iZmpucnZ6fkJGio6SlpqeoqaqrrK2ur6ChsrO0tba3uLm6u7y9vr+wscLDxMXGx8jJysvMzc7PwMHS09TV1tfY2drb3N3e\
        39DR4uPk5ebn6Onq6+zt7u/g4fLz9PX29/j5+vv8/f7/8PMKDAgQQLGjyIMKHChQwbOnwIMaLEiRQrWryIMaPGjU0cO3r8CDKkyJEkS5o8iTKl\
        ypUsW7p8CTOmzJk0a9q8iTOnzp08e/r8CTSo0KFEixo9ijSp0qVMmzp9CjWq1KlUq1q9ijWr1q1cu/4sAAA7
        """
    )
    /// With EXIF.
    package static let webp = bytes(
        """
        UklGRvgAAABXRUJQVlA4WAoAAAAIAAAAKwEAxwAAVlA4TBgAAAAvK8ExAAdQqCIXpf8BAEX6/58i+p/6/zVFWElGugAAAEV4aWYAAElJKgAIAA\
        AABgASAQMAAQAAAAEAAAAaAQUAAQAAAFYAAAAbAQUAAQAAAF4AAAAoAQMAAQAAAAIAAAATAgMAAQAAAAEAAABphwQAAQAAAGYAAAAAAAAAOGMA\
        AOgDAAA4YwAA6AMAAAYAAJAHAAQAAAAwMjEwAZEHAAQAAAABAgMAAKAHAAQAAAAwMTAwAaADAAEAAAD//wAAAqAEAAEAAAAsAQAAA6AEAAEAAA\
        DIAAAAAAAAAA==
        """
    )
    package static let png = pngImage(width: 300, height: 200)

    /// What no thumbnail may contain.
    package static let secret = "a secret place"

    private static func bytes(_ base64: String) -> [UInt8] {
        guard let data = Data(base64Encoded: base64) else { preconditionFailure("The image of a test is not base64.") }
        return [UInt8](data)
    }

    /// Returns parts as one.
    package static func join(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

    /// Returns a number of some bytes, the most significant first.
    package static func big(_ value: Int, _ count: Int) -> [UInt8] { little(value, count).reversed() }

    /// Returns a number of some bytes, the least significant first.
    package static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}

// MARK: - PNG

extension TestImage {
    package static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Returns a PNG image of one colour.
    ///
    /// - Parameters:
    ///   - rows: how many rows it has, which may be fewer than it announces; nil for all.
    ///   - chunks: those between the first chunk and the pixels.
    package static func pngImage(width: Int, height: Int, rows: Int? = nil, chunks: [UInt8] = []) -> [UInt8] {
        var row: [UInt8] = [0]
        for _ in 0..<min(width, 4096) { row += [0x40, 0x80, 0xC0] }
        let pixels = (0..<(rows ?? height)).flatMap { _ in row }
        return join(
            pngSignature,
            pngHeader(width: width, height: height),
            chunks,
            pngChunk("IDAT", deflated(pixels)),
            pngChunk("IEND", [])
        )
    }

    /// Returns the first chunk of a PNG image.
    package static func pngHeader(width: Int, height: Int) -> [UInt8] {
        pngChunk("IHDR", join(big(width, 4), big(height, 4), [8, 2, 0, 0, 0]))
    }

    /// Returns a chunk of a PNG image.
    package static func pngChunk(_ kind: String, _ content: [UInt8]) -> [UInt8] {
        let covered = join(Array(kind.utf8), content)
        return join(big(content.count, 4), covered, big(Int(crc32(covered)), 4))
    }

    /// Returns bytes in the format of zlib, not compressed.
    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        repeat {
            let block = Array(rest.prefix(65_535))
            rest = rest.dropFirst(block.count)
            result += join([rest.isEmpty ? 1 : 0], little(block.count, 2), little(~block.count, 2), block)
        } while !rest.isEmpty
        var (a, b) = (1, 0)
        for byte in bytes {
            a = (a + Int(byte)) % 65_521
            b = (b + a) % 65_521
        }
        return result + big(b << 16 | a, 4)
    }

    /// Returns a grey PNG image whose many pixels take few bytes.
    package static func pngOfZeros(width: Int, height: Int) -> [UInt8] {
        join(
            pngSignature,
            pngChunk("IHDR", join(big(width, 4), big(height, 4), [8, 0, 0, 0, 0])),
            pngChunk("IDAT", deflatedZeros((width + 1) * height)),
            pngChunk("IEND", [])
        )
    }

    /// Returns zeros in the format of zlib: one, and copies of the 258 before.
    private static func deflatedZeros(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = [0x78, 0x01]
        var (word, bits) = (0, 0)
        func put(_ code: Int, _ length: Int) {
            for place in (0..<length).reversed() {
                word |= (code >> place & 1) << bits
                bits += 1
                if bits == 8 {
                    bytes.append(UInt8(word))
                    (word, bits) = (0, 0)
                }
            }
        }
        // The last block, of fixed codes (RFC 1951, 3.2.6).
        put(0b110, 3)
        let literals = (count - 1) % 258 + 1
        for _ in 0..<literals { put(0b0011_0000, 8) }
        for _ in 0..<(count - literals) / 258 { put(0b1_1000_1010_0000, 13) }
        put(0, 7)
        if bits > 0 { bytes.append(UInt8(word)) }
        return join(bytes, big(count % 65_521 << 16 | 1, 4))
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var code = UInt32.max
        for byte in bytes {
            code ^= UInt32(byte)
            for _ in 0..<8 { code = code & 1 == 1 ? (code >> 1) ^ 0xEDB8_8320 : code >> 1 }
        }
        return ~code
    }
}

// MARK: - JPEG

extension TestImage {
    /// Returns a segment of a JPEG image.
    package static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        join([0xFF, marker], big(content.count + 2, 2), content)
    }

    /// Returns the segment of a JPEG image with its size.
    package static func frame(width: Int, height: Int, marker: UInt8 = 0xC0) -> [UInt8] {
        segment(marker, join([8], big(height, 2), big(width, 2), [1, 1, 0x11, 0]))
    }

    /// Returns the segment of a JPEG image with an orientation and a secret.
    package static func exif(orientation: Int, isLittle: Bool = true) -> [UInt8] {
        segment(0xE1, join(Array("Exif\0\0".utf8), tiff(orientation: orientation, isLittle: isLittle)))
    }

    /// Returns EXIF with an orientation and a secret.
    package static func tiff(orientation: Int, isLittle: Bool = true) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] { isLittle ? little(value, count) : big(value, count) }
        let text = Array(secret.utf8) + [0]
        return join(
            Array((isLittle ? "II*\0" : "MM\0*").utf8),
            number(8, 4),
            number(2, 2),
            // The tag, its type, its count, and its value or the place of that.
            join(number(0x0112, 2), number(3, 2), number(1, 4), number(orientation, 2), [0, 0]),
            join(number(0x013B, 2), number(2, 2), number(text.count, 4), number(38, 4)),
            number(0, 4),
            text
        )
    }

    /// Returns the JPEG image with segments before all others.
    package static func jpegImage(with segments: [UInt8]) -> [UInt8] {
        join(Array(jpeg.prefix(2)), segments, Array(jpeg.dropFirst(2)))
    }
}

// MARK: - GIF, WebP and AVIF

extension TestImage {
    /// Returns a GIF image whose screen and frame announce these sizes, without pixels.
    package static func gifImage(screen: (Int, Int), frame: (Int, Int)? = nil, extensions: [UInt8] = []) -> [UInt8] {
        let start = join(
            Array("GIF89a".utf8),
            little(screen.0, 2),
            little(screen.1, 2),
            // A palette of two colours.
            [0x80, 0, 0, 0, 0, 0, 255, 255, 255],
            extensions
        )
        guard let frame else { return start }
        return join(start, [0x2C, 0, 0, 0, 0], little(frame.0, 2), little(frame.1, 2), [0, 2, 0, 0x3B])
    }

    /// Returns a WebP file of chunks.
    ///
    /// - Parameter length: what its head announces; nil for the truth.
    package static func webpFile(_ chunks: [UInt8], length: Int? = nil) -> [UInt8] {
        join(Array("RIFF".utf8), little(length ?? chunks.count + 4, 4), Array("WEBP".utf8), chunks)
    }

    /// Returns a chunk of a WebP file.
    ///
    /// - Parameter length: what it announces; nil for the truth.
    package static func webpChunk(_ kind: String, _ content: [UInt8], length: Int? = nil) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: content.count % 2)
        return join(Array(kind.utf8), little(length ?? content.count, 4), content, padding)
    }

    /// Returns the chunk of a WebP file with the size of the canvas.
    package static func webpCanvas(_ width: Int, _ height: Int, flags: UInt8 = 0) -> [UInt8] {
        webpChunk("VP8X", join([flags, 0, 0, 0], little(width - 1, 3), little(height - 1, 3)))
    }

    /// Returns the beginning of a lossy WebP image as a chunk.
    package static func webpFrame(_ width: Int, _ height: Int) -> [UInt8] {
        webpChunk("VP8 ", join([0x10, 0, 0, 0x9D, 0x01, 0x2A], little(width, 2), little(height, 2)))
    }

    /// Returns a box of an AVIF file.
    package static func box(_ kind: String, _ content: [UInt8]) -> [UInt8] {
        join(big(content.count + 8, 4), Array(kind.utf8), content)
    }

    /// Returns an AVIF file with these properties, without pixels.
    package static func avifImage(_ properties: [UInt8]) -> [UInt8] {
        join(
            box("ftyp", Array("avif\0\0\0\0avifmif1".utf8)),
            box("meta", join([0, 0, 0, 0], box("hdlr", []), box("iprp", box("ipco", properties)))),
            box("mdat", [1, 2, 3])
        )
    }

    /// Returns the property of an AVIF file with a size.
    package static func extent(_ width: Int, _ height: Int) -> [UInt8] {
        box("ispe", join([0, 0, 0, 0], big(width, 4), big(height, 4)))
    }
}
