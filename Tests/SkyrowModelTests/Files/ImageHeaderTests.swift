import SkyrowModel
import SkyrowTestSupport
import Testing

/// What is known of an image by its first bytes.
@Suite struct ImageHeaderTests {
    private typealias Row = (name: String, bytes: [UInt8], format: ImageFormat?, width: Int, height: Int)

    private static func join(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

    private static func pngFile(_ chunk: [UInt8]) -> [UInt8] { TestImage.pngSignature + chunk }

    private static let png: [Row] = [
        ("an image", TestImage.png, .png, 300, 200),
        ("only what is needed", Array(TestImage.png.prefix(24)), .png, 300, 200),
        ("a byte less", Array(TestImage.png.prefix(23)), nil, 0, 0),
        ("the largest", pngFile(TestImage.pngHeader(width: 1, height: 0x7FFF_FFFF)), .png, 1, 0x7FFF_FFFF),
        ("a larger one", pngFile(TestImage.pngHeader(width: 1, height: 0x8000_0000)), nil, 0, 0),
        ("no width", pngFile(TestImage.pngHeader(width: 0, height: 1)), nil, 0, 0),
        ("no height", pngFile(TestImage.pngHeader(width: 1, height: 0)), nil, 0, 0),
        ("another first chunk", pngFile(TestImage.pngChunk("tEXt", zeros(13))), nil, 0, 0),
        ("another length", pngFile(TestImage.pngChunk("IHDR", zeros(14))), nil, 0, 0),
    ]

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// A JPEG image of segments.
    private static func jpegFile(_ segments: [UInt8]...) -> [UInt8] { [0xFF, 0xD8] + segments.flatMap { $0 } }

    private static func repeated(_ segment: [UInt8], _ count: Int) -> [UInt8] { (0..<count).flatMap { _ in segment } }

    private static let frame = TestImage.frame(width: 3, height: 2)

    private static let jpeg: [Row] = [
        ("an image", TestImage.jpeg, .jpeg, 300, 200),
        ("a progressive one", jpegFile(TestImage.frame(width: 3, height: 2, marker: 0xC2)), .jpeg, 3, 2),
        ("tables only", jpegFile(TestImage.segment(0xC4, [1]), TestImage.segment(0xDB, [1])), nil, 0, 0),
        ("pixels before the size", jpegFile(TestImage.segment(0xDA, [1]), frame), nil, 0, 0),
        ("the end before the size", jpegFile([0xFF, 0xD9], frame), nil, 0, 0),
        ("no height", jpegFile(TestImage.frame(width: 3, height: 0)), nil, 0, 0),
        ("a short segment", jpegFile([0xFF, 0xE0, 0, 1], frame), nil, 0, 0),
        ("a segment that lies", jpegFile([0xFF, 0xE0, 0xFF, 0xFF], frame), nil, 0, 0),
        ("bytes that fill", jpegFile([0xFF, 0xFF, 0xFF], frame), .jpeg, 3, 2),
        ("a marker alone", jpegFile([0xFF, 0x01], frame), .jpeg, 3, 2),
        ("10,000 segments", jpegFile(repeated(TestImage.segment(0xEF, []), 10_000), frame), .jpeg, 3, 2),
        (
            "a size beyond what is examined", jpegFile(repeated(TestImage.segment(0xE2, zeros(65_533)), 5), frame), nil,
            0, 0
        ),
    ]

    private static let gif: [Row] = [
        ("an image", TestImage.gif, .gif, 300, 200),
        ("a screen alone", TestImage.gifImage(screen: (3, 2)), .gif, 3, 2),
        ("a larger frame", TestImage.gifImage(screen: (3, 2), frame: (65_535, 2)), .gif, 65_535, 2),
        ("a smaller frame", TestImage.gifImage(screen: (3, 2), frame: (1, 1)), .gif, 3, 2),
        (
            "a larger frame behind an extension",
            TestImage.gifImage(screen: (3, 2), frame: (9, 9), extensions: [0x21, 0xF9, 4, 0, 0, 0, 0, 0]), .gif, 9, 9
        ),
        ("an extension without end", TestImage.gifImage(screen: (3, 2), extensions: [0x21, 0xFE, 255, 1]), .gif, 3, 2),
        ("no screen", TestImage.gifImage(screen: (0, 0)), nil, 0, 0),
        ("no screen, but a frame", TestImage.gifImage(screen: (0, 0), frame: (4, 5)), .gif, 4, 5),
        ("a screen without flags", Array(TestImage.gif.prefix(10)), nil, 0, 0),
    ]

    private static func webpFile(_ kind: String, _ content: [UInt8]) -> [UInt8] {
        TestImage.webpFile(TestImage.webpChunk(kind, content))
    }

    private static let webp: [Row] = [
        ("an image with EXIF", TestImage.webp, .webp, 300, 200),
        ("a lossy one", TestImage.webpFile(TestImage.webpFrame(3, 2)), .webp, 3, 2),
        ("bits that scale", TestImage.webpFile(TestImage.webpFrame(0x4003, 0x8002)), .webp, 3, 2),
        ("no width", TestImage.webpFile(TestImage.webpFrame(0, 2)), nil, 0, 0),
        ("another code", webpFile("VP8 ", [0x10, 0, 0, 0x9D, 0x01, 0x2B, 3, 0, 2, 0]), nil, 0, 0),
        ("no key frame", webpFile("VP8 ", [0x11, 0, 0, 0x9D, 0x01, 0x2A, 3, 0, 2, 0]), nil, 0, 0),
        ("a lossless one", webpFile("VP8L", [0x2F, 2, 0x40, 0, 0]), .webp, 3, 2),
        ("another signature", webpFile("VP8L", [0x2E, 2, 0x40, 0, 0]), nil, 0, 0),
        ("the largest canvas", TestImage.webpFile(TestImage.webpCanvas(1 << 24, 1 << 24)), .webp, 1 << 24, 1 << 24),
        ("lengths that lie", TestImage.webpFile(TestImage.webpCanvas(3, 2), length: 0xFFFF_FFFF), .webp, 3, 2),
        ("no chunk", TestImage.webpFile([]), nil, 0, 0),
        ("another chunk", webpFile("EXIF", zeros(20)), nil, 0, 0),
    ]

    private static let extent = TestImage.extent(3, 2)

    private static let avif: [Row] = [
        ("an image", TestImage.avifImage(extent), .avif, 3, 2),
        ("tiles and their image", TestImage.avifImage(join(extent, TestImage.extent(6, 4))), .avif, 6, 4),
        ("a turned one", TestImage.avifImage(join(extent, TestImage.box("irot", [1]))), .avif, 2, 3),
        ("one on its head", TestImage.avifImage(join(extent, TestImage.box("irot", [2]))), .avif, 3, 2),
        ("no size", TestImage.avifImage(TestImage.box("pixi", [1])), nil, 0, 0),
        ("a size beyond all", TestImage.avifImage(TestImage.extent(0xFFFF_FFFF, 0xFFFF_FFFF)), nil, 0, 0),
        ("a box without length", TestImage.avifImage([0, 0, 0, 0, 0x69, 0x73, 0x70, 0x65]), nil, 0, 0),
    ]

    private static let others: [Row] = [
        ("nothing", [], nil, 0, 0),
        ("HTML", Array("<html><script>alert(1)</script>".utf8), nil, 0, 0),
        ("SVG", Array("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"3\" height=\"2\"/>".utf8), nil, 0, 0),
        ("a bitmap", join(Array("BM".utf8), zeros(60)), nil, 0, 0),
        ("a PDF", Array("%PDF-1.7".utf8), nil, 0, 0),
    ]

    private static let rows = [png, jpeg, gif, webp, avif, others].flatMap { $0 }

    @Test func theFormatAndTheSizeAreRead() {
        for row in Self.rows {
            let header = ImageHeader(row.bytes)
            #expect(header?.format == row.format, "\(row.name) \(String(describing: row.format))")
            let size = row.format.map { _ in PixelSize(width: row.width, height: row.height) }
            #expect(header?.size == size, "\(row.name) \(String(describing: row.format))")
        }
    }

    @Test func aPhotoHasTheSizeThatABrowserShows() {
        for orientation in 0...9 {
            let turned = (5...8).contains(orientation)
            let size = turned ? PixelSize(width: 200, height: 300) : PixelSize(width: 300, height: 200)
            for isLittle in [false, true] {
                let exif = TestImage.exif(orientation: orientation, isLittle: isLittle)
                #expect(ImageHeader(TestImage.jpegImage(with: exif))?.size == size, "\(orientation)")
            }
        }
        let plain = PixelSize(width: 300, height: 200)
        let first = Self.join(TestImage.exif(orientation: 1), TestImage.exif(orientation: 6))
        #expect(ImageHeader(TestImage.jpegImage(with: first))?.size == plain)
        // What is behind the segment is not read: the directory that it names lies in the next one.
        let outside = TestImage.segment(0xE1, Self.join(Array("Exif\0\0II*\0".utf8), TestImage.little(30, 4)))
        let both = Self.join(outside, TestImage.exif(orientation: 1))
        #expect(ImageHeader(TestImage.jpegImage(with: both))?.size == plain)
        let xmp = TestImage.segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8))
        let other = Self.join(xmp, TestImage.exif(orientation: 8))
        #expect(ImageHeader(TestImage.jpegImage(with: other))?.size == PixelSize(width: 200, height: 300))
    }

    @Test func pixelsDoNotOverflow() {
        #expect(PixelSize(width: 8000, height: 6000).pixels == 48_000_000)
        #expect(PixelSize(width: .max, height: 2).pixels == .max)
    }

    /// No bytes end the process, whether they are drawn or those of an image with faults.
    @Test func anyBytesAreReadOrRefused() {
        var random = SeededGenerator.forTest()
        var images = Self.rows.map(\.bytes).filter { (20..<3000).contains($0.count) }
        images.append(TestImage.jpegImage(with: TestImage.exif(orientation: 6)))
        var count = 0
        for _ in 0..<seededCases(20_000) {
            var bytes = images[Int.random(in: images.indices, using: &random)]
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            case 1:
                let start = Int.random(in: 0...min(16, bytes.count), using: &random)
                bytes = Array(bytes.prefix(start))
                for _ in 0..<64 { bytes.append(UInt8.random(in: .min ... .max, using: &random)) }
            default: break
            }
            for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] = Bool.random(using: &random) ? 0xFF : UInt8.random(in: .min ... .max, using: &random)
            }
            if let header = ImageHeader(bytes) {
                count += 1
                #expect(header.size.width > 0 && header.size.height > 0)
            }
        }
        #expect(count > 0)
    }

    // MARK: - Containers

    @Test func metadataLeavesAWebPImage() throws {
        let pixels = TestImage.webpFrame(3, 2)
        let exif = TestImage.webpChunk("EXIF", TestImage.tiff(orientation: 6))
        let xmp = TestImage.webpChunk("XMP ", Array(TestImage.secret.utf8))
        let profile = TestImage.webpChunk("ICCP", [1, 2, 3])
        let unknown = TestImage.webpChunk("what", Array(TestImage.secret.utf8))
        let canvas = TestImage.webpCanvas(3, 2, flags: 0x3C)
        let file = TestImage.webpFile(Self.join(canvas, profile, pixels, unknown, exif, xmp))
        // The bit of transparency stays.
        let expected = TestImage.webpFile(Self.join(TestImage.webpCanvas(3, 2, flags: 0x10), pixels))
        #expect(WebPContainer.withoutMetadata(file) == expected)
        #expect(WebPContainer.withoutMetadata(TestImage.webpFile(pixels)) == TestImage.webpFile(pixels))
        let real = try #require(WebPContainer.withoutMetadata(TestImage.webp))
        #expect(real.count < TestImage.webp.count)
        #expect(ImageHeader(real)?.size == PixelSize(width: 300, height: 200))
        let long = TestImage.webpFile(TestImage.webpChunk("VP8 ", [1, 2], length: 0xFFFF_FFFF))
        let cut = TestImage.webpFile(Self.join(pixels, [1, 2, 3]))
        for faulty: [UInt8] in [[], TestImage.png, long, cut] {
            #expect(WebPContainer.withoutMetadata(faulty) == nil)
        }
    }
}
