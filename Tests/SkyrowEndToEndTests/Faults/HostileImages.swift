import SkyrowTestSupport

/// A file that somebody uploads to harm the service, or who looks at it.
struct HostileImage {
    let name: String
    let type: String
    let bytes: [UInt8]

    static let all = png + jpeg + gif + webp + others

    private static let script = "<html><body onload=\"alert(1)\"><script>alert(document.cookie)</script></body></html>"

    private static func join(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

    private static func repeated(_ part: [UInt8], _ count: Int) -> [UInt8] { (0..<count).flatMap { _ in part } }

    private static func make(_ type: String, _ rows: [(String, [UInt8])]) -> [HostileImage] {
        rows.map { HostileImage(name: $0.0, type: type, bytes: $0.1) }
    }

    private static func cut(_ image: [UInt8], _ lengths: [Int]) -> [(String, [UInt8])] {
        lengths.map { ("truncated after \($0) bytes", Array(image.prefix($0))) }
    }

    // MARK: - PNG

    private static func png(_ chunks: [UInt8]...) -> [UInt8] { TestImage.pngSignature + chunks.flatMap { $0 } }

    private static var png: [HostileImage] {
        let end = TestImage.pngChunk("IEND", [])
        let garbage = TestImage.pngChunk("IDAT", Array("0123456789".utf8))
        let header = TestImage.pngHeader(width: 300, height: 200)
        var wrongSum = TestImage.png
        wrongSum[30] ^= 0xFF
        let lying = join([0x7F, 0xFF, 0xFF, 0xFF], Array("IDAT".utf8), [1, 2, 3])
        let text = TestImage.pngChunk("tEXt", Array("Comment\0\(script)".utf8))
        let profile = TestImage.pngChunk("iCCP", Array("x\0\0garbage".utf8))
        return make(
            "image/png",
            [
                ("a bomb of 60000 × 60000", png(TestImage.pngHeader(width: 60_000, height: 60_000), garbage, end)),
                ("a bomb of 7000 × 7000", TestImage.pngOfZeros(width: 7000, height: 7000)),
                ("the largest size", png(TestImage.pngHeader(width: 0x7FFF_FFFF, height: 0x7FFF_FFFF), garbage, end)),
                ("a row of 49,000,000 pixels", png(TestImage.pngHeader(width: 49_000_000, height: 1), garbage, end)),
                ("no width", png(TestImage.pngHeader(width: 0, height: 10), garbage, end)),
                ("no height", png(TestImage.pngHeader(width: 10, height: 0), garbage, end)),
                ("pixels that are none", png(header, garbage, end)),
                ("no pixels", png(header, end)),
                ("few pixels", TestImage.pngImage(width: 300, height: 200, rows: 3)),
                ("another size behind the first", png(header, TestImage.pngHeader(width: 60_000, height: 60_000), end)),
                ("a wrong checksum", wrongSum),
                ("a length that lies", png(header, lying)),
                ("10,000 texts", TestImage.pngImage(width: 300, height: 200, chunks: repeated(text, 10_000))),
                ("a colour profile that is none", TestImage.pngImage(width: 300, height: 200, chunks: profile)),
                ("HTML behind it", TestImage.png + Array(script.utf8)),
            ] + cut(TestImage.png, [8, 20, 33, 1000, 90_000])
        )
    }

    // MARK: - JPEG

    private static var jpeg: [HostileImage] {
        let image = TestImage.jpeg
        /// The image with another size in its frame.
        func sized(_ width: Int, _ height: Int, marker: UInt8 = 0xC0) -> [UInt8] {
            var bytes = image
            guard let frame = bytes.indices.first(where: { bytes[$0...].starts(with: [0xFF, 0xC0, 0, 17]) }) else {
                return []
            }
            bytes[frame + 1] = marker
            bytes.replaceSubrange(frame + 5..<frame + 9, with: join(TestImage.big(height, 2), TestImage.big(width, 2)))
            return bytes
        }
        let directory = join(Array("Exif\0\0II*\0".utf8), TestImage.little(8, 4), TestImage.little(0xFFFF, 2))
        let profile = TestImage.segment(0xE2, Array("ICC_PROFILE\0\u{1}\u{1}garbage".utf8))
        return make(
            "image/jpeg",
            [
                ("65500 × 65500", sized(65_500, 65_500)),
                ("7000 × 7000 with few pixels", sized(7000, 7000)),
                ("no height", sized(300, 0)),
                ("no width", sized(0, 200)),
                ("progressive without being so", sized(300, 200, marker: 0xC2)),
                ("arithmetic without being so", sized(300, 200, marker: 0xC9)),
                ("lossless without being so", sized(300, 200, marker: 0xC3)),
                ("two frames", TestImage.jpegImage(with: TestImage.frame(width: 10, height: 10))),
                ("10,000 segments", TestImage.jpegImage(with: repeated(TestImage.segment(0xEF, []), 10_000))),
                ("a segment that lies", TestImage.jpegImage(with: [0xFF, 0xE0, 0xFF, 0xFF, 1, 2])),
                ("EXIF without end", TestImage.jpegImage(with: TestImage.segment(0xE1, directory))),
                ("a colour profile that is none", TestImage.jpegImage(with: profile)),
                ("HTML in a comment", TestImage.jpegImage(with: TestImage.segment(0xFE, Array(script.utf8)))),
                ("HTML behind it", image + Array(script.utf8)),
                ("HTML instead of pixels", Array(image.prefix(300)) + Array(script.utf8)),
            ] + cut(image, [3, 20, 150, 400, 630])
        )
    }

    // MARK: - GIF

    private static var gif: [HostileImage] {
        let empty: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        let frames = join(TestImage.gifImage(screen: (1, 1)), repeated(empty, 10_000), [0x3B])
        let comment = join([0x21, 0xFE, UInt8(script.utf8.count)], Array(script.utf8), [0])
        return make(
            "image/gif",
            [
                ("a screen of 65535 × 65535", TestImage.gifImage(screen: (65_535, 65_535), frame: (1, 1))),
                ("a frame of 65535 × 65535", TestImage.gifImage(screen: (1, 1), frame: (65_535, 65_535))),
                ("7000 × 7000 without pixels", TestImage.gifImage(screen: (7000, 7000), frame: (7000, 7000))),
                ("no size", TestImage.gifImage(screen: (0, 0), frame: (0, 0))),
                ("no frame", TestImage.gifImage(screen: (300, 200))),
                ("an extension without end", TestImage.gifImage(screen: (300, 200), extensions: [0x21, 0xFE, 255, 1])),
                ("10,000 frames", frames),
                ("HTML in a comment", TestImage.gifImage(screen: (9, 9), frame: (9, 9), extensions: comment)),
                ("HTML as a size", Array("GIF89a\(script)".utf8)),
                ("a script", Array("GIF89a=1;alert(document.cookie)//".utf8)),
            ] + cut(TestImage.gif, [6, 13, 40, 200])
        )
    }

    // MARK: - WebP

    private static var webp: [HostileImage] {
        let pixels = TestImage.webpFrame(300, 200)
        let lying = TestImage.webpChunk("VP8 ", [1, 2, 3], length: 0xFFFF_FFFF)
        let nested = TestImage.webpChunk("ANMF", join([UInt8](repeating: 0, count: 16), lying))
        let script = TestImage.webpChunk("XMP ", Array(script.utf8))
        func file(_ chunks: [UInt8]..., length: Int? = nil) -> [UInt8] {
            TestImage.webpFile(chunks.flatMap { $0 }, length: length)
        }
        return make(
            "image/webp",
            [
                ("the largest canvas", file(TestImage.webpCanvas(1 << 24, 1 << 24), pixels)),
                ("a canvas of 7000 × 7000", file(TestImage.webpCanvas(7000, 7000), pixels)),
                ("no pixels", file(TestImage.webpCanvas(300, 200))),
                (
                    "a frame larger than its canvas",
                    file(TestImage.webpCanvas(1, 1), TestImage.webpFrame(16_383, 16_383))
                ),
                ("a frame without pixels", file(pixels)),
                ("a length that lies", file(lying)),
                ("a length that lies in an animation", file(TestImage.webpCanvas(9, 9, flags: 2), nested, nested)),
                ("a head without length", file(pixels, length: 0)),
                ("a head that lies", file(pixels, length: 0xFFFF_FFFE)),
                (
                    "10,000 chunks",
                    file(TestImage.webpCanvas(9, 9), repeated(TestImage.webpChunk("what", []), 10_000), pixels)
                ),
                ("HTML in XMP", file(TestImage.webpCanvas(300, 200, flags: 4), pixels, script)),
            ] + cut(TestImage.webp, [12, 20, 30, 50])
        )
    }

    // MARK: - Other files

    private static var others: [HostileImage] {
        let svg = """
            <?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="alert(1)">
            <script>alert(document.cookie)</script><image href="file:///etc/passwd"/></svg>
            """
        let magick =
            "push graphic-context\nviewbox 0 0 9 9\nfill 'url(https://127.0.0.1/x\"|ls\")'\npop graphic-context"
        let rows: [(String, String, [UInt8])] = [
            ("SVG", "image/svg+xml", Array(svg.utf8)),
            ("SVG as PNG", "image/png", Array(svg.utf8)),
            ("SVG as WebP", "image/webp", Array(svg.utf8)),
            ("HTML as JPEG", "image/jpeg", Array(script.utf8)),
            ("HTML", "text/html", Array(script.utf8)),
            ("commands of ImageMagick", "image/png", Array(magick.utf8)),
            ("PostScript", "image/jpeg", Array("%!PS-Adobe-3.0\n(/etc/passwd) (r) file".utf8)),
            ("PDF as PNG", "image/png", Array("%PDF-1.7\n1 0 obj".utf8)),
            ("TIFF", "image/tiff", join(Array("II*\0".utf8), [8, 0, 0, 0, 0xFF, 0xFF])),
            ("AVIF of 60000 × 60000", "image/avif", TestImage.avifImage(TestImage.extent(60_000, 60_000))),
            ("PNG as HTML", "text/html", TestImage.png),
            ("JPEG as SVG", "image/svg+xml", TestImage.jpeg),
            ("GIF as a script", "text/javascript", TestImage.gif),
        ]
        return rows.map { HostileImage(name: $0.0, type: $0.1, bytes: $0.2) }
    }
}
