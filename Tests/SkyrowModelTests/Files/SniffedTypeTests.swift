import SkyrowModel
import SkyrowTestSupport
import Testing

/// Types by the first bytes of files.
@Suite struct SniffedTypeTests {
    /// The first box of an ISO base media file.
    private static func box(_ brands: String..., size: UInt8? = nil) -> [UInt8] {
        let text = "ftyp" + (brands.first ?? "") + "\0\0\u{2}\0" + brands.dropFirst().joined()
        return [0, 0, 0, size ?? UInt8(text.utf8.count + 4)] + text.utf8
    }

    private static func matroska(_ type: String) -> [UInt8] {
        [0x1A, 0x45, 0xDF, 0xA3, 0xA3, 0x42, 0x86, 0x81, 1, 0x42, 0x82, 0x80 + UInt8(type.utf8.count)] + type.utf8
    }

    private static func ogg(_ packet: [UInt8]) -> [UInt8] {
        Array("OggS\0\u{2}".utf8) + [UInt8](repeating: 0, count: 20) + [1, UInt8(packet.count)] + packet
    }

    private static func bitmap(_ headerSize: UInt8 = 40) -> [UInt8] {
        Array("BM".utf8) + [0x46, 0, 0, 0, 0, 0, 0, 0, 0x36, 0, 0, 0, headerSize, 0, 0, 0]
    }

    /// Two frames of 128 kbit/s at 44.1 kHz, of which the first has 417 bytes.
    private static func mp3(second: [UInt8] = [0xFF, 0xFB, 0x90, 0]) -> [UInt8] {
        [0xFF, 0xFB, 0x90, 0] + [UInt8](repeating: 0, count: 413) + second
    }

    /// Two frames, of which the first has 16 bytes.
    private static func aac(second: [UInt8] = [0xFF, 0xF1, 0x50, 0x80, 2, 0x1F, 0xFC]) -> [UInt8] {
        [0xFF, 0xF1, 0x50, 0x80, 2, 0x1F, 0xFC] + [UInt8](repeating: 0, count: 9) + second
    }

    private static let signatures: [([UInt8], String)] = [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"), ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"),
        (Array("GIF87a".utf8), "image/gif"), (Array("GIF89a<script>".utf8), "image/gif"),
        (Array("RIFF\u{24}\0\0\0WEBPVP8 ".utf8), "image/webp"), (Array("RIFF\u{24}\0\0\0WAVEfmt ".utf8), "audio/wav"),
        (Array("RIFF\u{24}\0\0\0AVI LIST".utf8), "video/x-msvideo"),
        (bitmap(), "image/bmp"), (bitmap(12), "image/bmp"), (bitmap(124), "image/bmp"),
        ([0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0], "image/vnd.microsoft.icon"),
        (Array("II*\0".utf8), "image/tiff"), (Array("MM\0*".utf8), "image/tiff"),
        (box("avif", "mif1", "miaf"), "image/avif"), (box("avis"), "image/avif"), (box("mif1", "avif"), "image/avif"),
        (box("heic", "mif1"), "image/heic"), (box("mif1", "heic"), "image/heic"), (box("msf1", "hevc"), "image/heic"),
        (box("mif1", "miaf"), "image/heif"), (box("mif1"), "image/heif"),
        (box("isom", "iso2", "avc1", "mp41"), "video/mp4"), (box("mp42"), "video/mp4"), (box("M4V "), "video/mp4"),
        (box("M4A ", "mp42"), "audio/mp4"), (box("3gp4"), "video/3gpp"), (box("3g2a"), "video/3gpp2"),
        (box("qt  "), "video/quicktime"), (box("what", "mp41"), "video/mp4"),
        (box("isom") + Array("<html>".utf8), "video/mp4"),
        (matroska("webm"), "video/webm"), (matroska("matroska"), "video/matroska"),
        ([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0x0F, 0x76], "audio/mpeg"), (mp3(), "audio/mpeg"),
        ([0xFF, 0xFB, 0x90, 0], "audio/mpeg"), ([0xFF, 0xF3, 0x40, 0xC4], "audio/mpeg"),
        ([0xFF, 0xE3, 0x18, 0xC4], "audio/mpeg"),
        (aac(), "audio/aac"), ([0xFF, 0xF9, 0x50, 0x80, 2, 0x1F, 0xFC], "audio/aac"),
        (ogg(Array("OpusHead".utf8)), "audio/ogg"), (ogg([1] + "vorbis".utf8), "audio/ogg"),
        (ogg([0x80] + "theora".utf8), "video/ogg"), (ogg(Array("fishead".utf8)), "application/ogg"),
        (Array("fLaC\0\0\0\u{22}".utf8), "audio/flac"), (Array("%PDF-1.7\n".utf8), "application/pdf"),
        ([0x50, 0x4B, 3, 4, 0x14, 0], "application/zip"), ([0x50, 0x4B, 5, 6, 0, 0], "application/zip"),
        ([0x1F, 0x8B, 8, 0], "application/gzip"),
    ]

    @Test(arguments: signatures)
    func aSignatureIsAType(first: [UInt8], type: String) {
        #expect(SniffedType.of(first) == type)
        #expect(SniffedType.of(first[...]) == type)
        // What stands behind the first bytes does not count, nor does a signature that is not at the beginning.
        let rest = [UInt8](repeating: 0x20, count: 600)
        #expect(SniffedType.of((first + rest).prefix(SniffedType.examinedBytes)) == SniffedType.of(first + rest))
        #expect(SniffedType.of([0x0A] + first) == nil)
        #expect(MediaType(type)?.rawValue == type)
    }

    private static let unknown: [[UInt8]] = [
        [], [0], [0xFF], [0xFF, 0xD8], Array("text".utf8), Array("\u{FEFF}text".utf8),
        // What a browser runs
        Array("<!DOCTYPE html><script>".utf8), Array("<html>".utf8), Array("<svg xmlns=\"\"/>".utf8),
        Array("<?xml version=\"1.0\"?>".utf8), Array("alert(1)".utf8), Array("#!/bin/sh".utf8), Array(" %PDF-1.7".utf8),
        // Texts that begin as a signature does
        Array("BMW is a company of Munich, and makes cars".utf8), Array("ID3 tags are at the beginning of files".utf8),
        Array("GIF90a".utf8), Array("RIFFraff is a word".utf8), Array("PKZIP".utf8), Array("MM*\0".utf8),
        Array("Oggy".utf8),
        // UTF-16 in both orders
        [0xFF, 0xFE, 0x3C, 0], [0xFE, 0xFF, 0, 0x3C], [0xFF, 0xFE, 0, 0],
        // Headers that are cut, and invalid ones
        Array(bitmap().dropLast()), bitmap(41), [0, 0, 1, 0, 0, 0, 16, 16, 0, 0], [0, 0, 1, 0, 1, 0],
        [0, 0, 2, 0, 1, 0, 16, 16, 0, 0],
        Array("\0\0\0\u{18}ftyp".utf8), Array("\0\0\0\u{18}ftypmp4".utf8), box("what"), box("mp42", size: 15),
        box("mp42", size: 18), box("mp42", size: 0), box("what", "mp42", size: 16),
        Array(matroska("webm").dropLast()), matroska("mkv1"),
        [0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0x0F], [0x49, 0x44, 0x33, 5, 0, 0, 0, 0, 0x0F, 0x76],
        [0x49, 0x44, 0x33, 4, 0, 0, 0x80, 0, 0x0F, 0x76],
        [0xFF, 0xFB, 0x00, 0], [0xFF, 0xFB, 0xF0, 0], [0xFF, 0xFB, 0x9C, 0], [0xFF, 0xEB, 0x90, 0], [0xFF, 0xFB, 0x90],
        mp3(second: [0x20, 0x20, 0x20, 0x20]), aac(second: [UInt8](repeating: 0x20, count: 7)),
        [0xFF, 0xF1, 0x50, 0x80, 0, 0x1F, 0xFC], [0xFF, 0xF1, 0x7C, 0x80, 2, 0x1F, 0xFC],
    ]

    @Test(arguments: unknown)
    func anythingElseHasNoType(first: [UInt8]) {
        #expect(SniffedType.of(first) == nil)
    }

    /// Signatures with changed bytes: no trap, and never a type that a browser runs.
    @Test func noFileIsTakenForAScript() throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(20_000) {
            var first = Self.signatures.randomElement(using: &random)?.0 ?? []
            for _ in 0..<Int.random(in: 0..<4, using: &random) where !first.isEmpty {
                let place = Int.random(in: first.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: first[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: first.remove(at: place)
                default: first.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
                }
            }
            first = Array(first.prefix(Int.random(in: 0...600, using: &random)))
            guard let name = SniffedType.of(first) else { continue }
            let type = try #require(MediaType(name))
            #expect(!type.isActive)
            #expect(SniffedType.agrees(name, with: type), "\(name) \(first)")
        }
    }

    private static let agreements: [(String?, String, Bool)] = [
        ("image/png", "image/png", true), ("image/png", "image/apng", true), ("image/jpeg", "image/jpg", true),
        ("audio/wav", "audio/x-wav", true), ("video/mp4", "audio/mp4", true), ("video/mp4", "video/quicktime", true),
        ("video/webm", "audio/webm", true), ("application/ogg", "video/ogg", true), ("image/heif", "image/heic", true),
        ("application/zip", "application/zip", true), ("application/zip", "application/epub+zip", true),
        ("application/zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", true),
        ("application/zip", "application/vnd.oasis.opendocument.text", true),
        (nil, "text/plain", true), (nil, "text/html", true), (nil, "application/octet-stream", true),
        (nil, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", true),
        ("image/png", "image/jpeg", false), ("image/png", "text/html", false), ("image/png", "image/svg+xml", false),
        ("image/png", "text/plain", false), ("image/png", "application/octet-stream", false),
        ("image/avif", "image/heic", false), ("video/mp4", "video/webm", false),
        ("application/zip", "text/plain", false),
        ("application/gzip", "application/epub+zip", false),
        ("application/pdf", "application/vnd.oasis.opendocument.text", false),
        // A file of these types has a signature.
        (nil, "image/png", false), (nil, "image/jpg", false), (nil, "application/pdf", false),
        (nil, "audio/mp4", false),
    ]

    @Test(arguments: agreements)
    func aFileMayHaveTheTypesOfItsSignature(sniffed: String?, declared: String, agrees: Bool) throws {
        let type = try #require(MediaType(declared))
        #expect(SniffedType.agrees(sniffed, with: type) == agrees)
    }

    private static let judgements: [(String?, String, String)] = [
        ("image/png", "image/png", "image/png"), ("image/png", "text/plain", "image/png"),
        ("image/png", "image/svg+xml", "image/png"), (nil, "image/jpg", "image/jpeg"), (nil, "text/html", "text/html"),
        ("video/mp4", "audio/mp4", "audio/mp4"), ("application/zip", "application/epub+zip", "application/epub+zip"),
        ("application/zip", "image/png", "application/zip"),
    ]

    @Test(arguments: judgements)
    func aFileIsJudgedByItsSignature(sniffed: String?, declared: String, judged: String) throws {
        let type = SniffedType.judged(declared: try #require(MediaType(declared)), sniffed: sniffed)
        #expect(type.rawValue == judged)
    }

    private static let storedTypes: [(String?, String, String?, String)] = [
        // What is declared is stored, even if it is wrong.
        ("image/png", "cat.jpg", "image/jpeg", "image/png"), ("text/html", "cat.png", "image/png", "text/html"),
        ("image/jpg", "cat", nil, "image/jpg"),
        // A type that says nothing
        ("application/octet-stream", "cat", "image/png", "image/png"),
        ("binary/octet-stream", "cat.jpg", "image/png", "image/png"),
        ("application/x-www-form-urlencoded", "cat.csv", nil, "text/csv"), (nil, "cat.png", "image/png", "image/png"),
        (nil, "cat.docx", "application/zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (nil, "song.m4a", "video/mp4", "audio/mp4"),
        (nil, "cat.png", nil, "application/octet-stream"), (nil, "cat", nil, "application/octet-stream"),
        // What a browser runs is never guessed.
        ("application/octet-stream", "cat.html", nil, "application/octet-stream"),
        ("application/octet-stream", "cat.svg", nil, "application/octet-stream"),
        ("application/octet-stream", "cat.js", nil, "application/octet-stream"),
        (nil, "cat.html", nil, "text/html"), (nil, "cat.html", "image/png", "image/png"),
    ]

    @Test(arguments: storedTypes)
    func aTypeThatSaysNothingIsCorrected(declared: String?, filename: String, sniffed: String?, stored: String) {
        let type = SniffedType.stored(
            declared: declared.flatMap { MediaType($0) },
            filename: filename,
            sniffed: sniffed
        )
        #expect(type.rawValue == stored)
    }
}
