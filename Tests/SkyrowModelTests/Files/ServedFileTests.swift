import SkyrowModel
import SkyrowTestSupport
import Testing

/// The header fields of downloads.
@Suite struct ServedFileTests {
    private static func served(
        _ contentType: String,
        _ sniffed: String?,
        filename: String = "cat",
        forcesDownload: Bool = false
    ) -> ServedFile {
        ServedFile(filename: filename, contentType: contentType, sniffed: sniffed, forcesDownload: forcesDownload)
    }

    private static let safe: [(String, String?, String)] = [
        ("image/png", "image/png", "image/png"), ("image/jpeg", "image/jpeg", "image/jpeg"),
        ("image/jpg", "image/jpeg", "image/jpeg"),
        ("image/gif", "image/gif", "image/gif"), ("image/webp", "image/webp", "image/webp"),
        ("image/avif", "image/avif", "image/avif"), ("video/mp4", "video/mp4", "video/mp4"),
        ("audio/mp4", "video/mp4", "audio/mp4"), ("video/webm", "video/webm", "video/webm"),
        ("audio/webm", "video/webm", "audio/webm"), ("audio/mpeg", "audio/mpeg", "audio/mpeg"),
        ("audio/mp3", "audio/mpeg", "audio/mpeg"), ("audio/ogg", "audio/ogg", "audio/ogg"),
        ("video/ogg", "video/ogg", "video/ogg"), ("audio/x-wav", "audio/wav", "audio/wav"),
        ("audio/aac", "audio/aac", "audio/aac"), ("application/pdf", "application/pdf", "application/pdf"),
        ("text/plain", nil, "text/plain; charset=utf-8"),
    ]

    @Test(arguments: safe)
    func aSafeTypeIsShown(stored: String, sniffed: String?, contentType: String) {
        let file = Self.served(stored, sniffed)
        #expect(file.contentType == contentType)
        #expect(file.disposition == "inline; filename=\"cat\"")
        let download = Self.served(stored, sniffed, forcesDownload: true)
        #expect(download.contentType == contentType)
        #expect(download.disposition == "attachment; filename=\"cat\"")
    }

    private static let unsafe: [(String, String?, String)] = [
        // Types that a browser runs, or applies to a page
        ("text/html", nil, "application/octet-stream"), ("TEXT/HTML; charset=utf-8", nil, "application/octet-stream"),
        ("application/xhtml+xml", nil, "application/octet-stream"), ("text/xml", nil, "application/octet-stream"),
        ("application/xml", nil, "application/octet-stream"), ("application/rss+xml", nil, "application/octet-stream"),
        ("application/xml-dtd", nil, "application/octet-stream"), ("text/xsl", nil, "application/octet-stream"),
        ("text/javascript", nil, "application/octet-stream"),
        ("application/x-javascript", nil, "application/octet-stream"),
        ("application/ecmascript", nil, "application/octet-stream"), ("text/jscript", nil, "application/octet-stream"),
        ("text/css", nil, "application/octet-stream"), ("application/wasm", nil, "application/octet-stream"),
        ("multipart/related", nil, "application/octet-stream"), ("message/rfc822", nil, "application/octet-stream"),
        ("text/html", "image/gif", "application/octet-stream"),
        // Shown by an element of a page, which does not run it
        ("image/svg+xml", nil, "image/svg+xml"),
        // The first bytes do not agree.
        ("image/png", nil, "application/octet-stream"), ("image/png", "image/jpeg", "application/octet-stream"),
        ("image/svg+xml", "image/png", "application/octet-stream"),
        ("text/plain", "application/pdf", "application/octet-stream"),
        ("application/pdf", nil, "application/octet-stream"),
        ("video/mp4", "application/zip", "application/octet-stream"),
        // Neither safe nor run
        ("application/zip", "application/zip", "application/zip"), ("text/csv", nil, "text/csv"),
        ("application/json", nil, "application/json"), ("image/heic", "image/heic", "image/heic"),
        ("application/octet-stream", nil, "application/octet-stream"),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/zip",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        ),
        // No types
        ("", nil, "application/octet-stream"), ("image", "image/png", "application/octet-stream"),
        ("image/png\r\nSet-Cookie: a=b", "image/png", "application/octet-stream"),
        ("*/*", nil, "application/octet-stream"),
    ]

    @Test(arguments: unsafe)
    func anyOtherTypeIsAnAttachment(stored: String, sniffed: String?, contentType: String) {
        for forcesDownload in [false, true] {
            let file = Self.served(stored, sniffed, forcesDownload: forcesDownload)
            #expect(file.contentType == contentType)
            #expect(file.disposition == "attachment; filename=\"cat\"")
        }
    }

    private static let names: [(String, String)] = [
        ("cat.png", "filename=\"cat.png\""), ("my cat (1).png", "filename=\"my cat (1).png\""),
        ("a;b=c,d'e.png", "filename=\"a;b=c,d'e.png\""),
        ("K\u{E4}tzchen.png", "filename=\"K_tzchen.png\"; filename*=UTF-8''K%C3%A4tzchen.png"),
        ("\u{65E5}\u{672C} 1.png", "filename=\"__ 1.png\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC%201.png"),
        ("\u{1F431}.png", "filename=\"_.png\"; filename*=UTF-8''%F0%9F%90%B1.png"),
        ("50%.png", "filename=\"50_.png\"; filename*=UTF-8''50%25.png"),
        ("%2e%2e.png", "filename=\"_2e_2e.png\"; filename*=UTF-8''%252e%252e.png"),
        ("a\"b.png", "filename=\"a_b.png\"; filename*=UTF-8''a%22b.png"),
        ("a'b\u{E9}", "filename=\"a'b_\"; filename*=UTF-8''a%27b%C3%A9"),
        ("!#$&+-.^_`|~()*\u{E9}", "filename=\"!#$&+-.^_`|~()*_\"; filename*=UTF-8''!#$&+-.^_`|~%28%29%2A%C3%A9"),
        // Paths
        ("../../etc/passwd", "filename=\"passwd\""), ("C:\\a\\cat.png", "filename=\"cat.png\""),
        ("a\\\"b", "filename=\"_b\"; filename*=UTF-8''%22b"),
        ("", "filename=\"file\""), ("/", "filename=\"file\""), (".", "filename=\"file\""),
        ("a/..", "filename=\"file\""),
        // Characters that would end the field, or show another name
        ("a\r\nSet-Cookie: b=c", "filename=\"a__Set-Cookie: b=c\""), ("a\u{0}b", "filename=\"a_b\""),
        ("a\tb\u{7F}", "filename=\"a_b_\""),
        ("a\u{85}b\u{2028}c\u{2029}d", "filename=\"a_b_c_d\""), ("\u{202E}gnp.exe", "filename=\"_gnp.exe\""),
        ("a\u{2066}b\u{200F}c\u{61C}", "filename=\"a_b_c_\""),
    ]

    @Test(arguments: names)
    func aNameIsQuotedAndEncoded(filename: String, parameters: String) {
        let file = Self.served("image/png", "image/png", filename: filename)
        #expect(file.disposition == "inline; \(parameters)")
    }

    @Test func aLongNameIsCut() {
        let long = String(repeating: "x", count: 300)
        #expect(
            Self.served("text/plain", nil, filename: long).disposition == "inline; filename=\"\(long.prefix(255))\""
        )
        let umlauts = Self.served("text/plain", nil, filename: String(repeating: "\u{E4}", count: 300)).disposition
        #expect(umlauts.hasSuffix("''" + String(repeating: "%C3%A4", count: 127)))
    }

    /// Names of any characters: the field is one line of ASCII with one quoted string.
    @Test func noNameEndsTheField() {
        var random = SeededGenerator.forTest()
        let letters = Array(
            "ab .;='\"\\/%\r\n\0\t\u{7F}\u{85}\u{E9}\u{202E}\u{2028}\u{1F431}\u{301}\u{10FFFF}".unicodeScalars
        )
        for _ in 0..<seededCases(5000) {
            var filename = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<40, using: &random) {
                filename.append(letters.randomElement(using: &random) ?? "a")
            }
            let bytes = Array(Self.served("text/plain", nil, filename: String(filename)).disposition.utf8)
            #expect(bytes.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
            #expect(bytes.count { $0 == UInt8(ascii: "\"") } == 2)
        }
    }

    @Test func aPageOfAFileRunsNothing() {
        #expect(ServedFile.policy.hasPrefix("default-src 'none';"))
        #expect(ServedFile.policy.hasSuffix("; sandbox"))
        #expect(!ServedFile.policy.contains("script-src"))
    }
}
