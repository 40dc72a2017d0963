import SkyrowModel
import Testing

@Suite struct MediaTypeTests {
    private static let long = "application/" + String(repeating: "x", count: 115)

    private static let rows: [(String, String?)] = [
        ("image/png", "image/png"), ("Image/PNG", "image/png"), ("text/plain;charset=utf-8", "text/plain"),
        ("text/plain ; charset=\"a;b\"", "text/plain"), (" text/plain\t", "text/plain"), ("text/plain;", "text/plain"),
        ("application/vnd.api+json", "application/vnd.api+json"), ("a/b", "a/b"), ("!#$&/^_.+-", "!#$&/^_.+-"),
        (long, long),
        // What follows the parameters' semicolon is dropped with them.
        ("text/plain;\r\nSet-Cookie: a=b", "text/plain"),
        (long + "x", nil), (String(repeating: "a/", count: 100_000), nil),
        ("", nil), ("/", nil), ("image", nil), ("image/", nil), ("/png", nil), ("image/png/x", nil),
        ("image//png", nil),
        ("image /png", nil), ("image/ png", nil), ("image/p ng", nil), (";", nil), ("; image/png", nil),
        ("*/*", nil), ("image/*", nil), ("text/plain, text/html", nil), ("\"text\"/plain", nil),
        ("text/plain\r\nSet-Cookie: a=b", nil), ("text/\r\nplain", nil), ("text/pl\u{0}ain", nil),
        ("text/pl\u{E4}in", nil), ("te\u{301}xt/plain", nil), ("text/plain\u{7F}", nil), ("text(x)/plain", nil),
    ]

    @Test(arguments: rows)
    func aTypeIsTwoTokens(text: String, type: String?) {
        #expect(MediaType(text)?.rawValue == type, "\(text.prefix(200))")
    }

    @Test func aTypeHasTwoParts() throws {
        let type = try #require(MediaType("image/svg+xml"))
        #expect(type.type == "image")
        #expect(type.subtype == "svg+xml")
        #expect(type.description == "image/svg+xml")
        #expect(MediaType("x image/png".dropFirst()) == MediaType("image/png"))
    }

    private static let extensions: [(String, String?)] = [
        ("png", "image/png"), ("PNG", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("mp4", "video/mp4"),
        // Scripts have their types, too: they are stored as what they are.
        ("html", "text/html"), ("svg", "image/svg+xml"), ("js", "text/javascript"), ("xhtml", "application/xhtml+xml"),
        ("pdf", "application/pdf"), ("txt", "text/plain"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("", nil), (".png", nil), ("exe", nil), ("png ", nil), ("p\u{301}ng", nil),
        (String(repeating: "png", count: 100_000), nil),
    ]

    @Test(arguments: extensions)
    func anExtensionHasAType(name: String, type: String?) {
        #expect(MediaTypes.type(ofExtension: name) == type)
        if let type { #expect(MediaType(type)?.rawValue == type) }
    }

    private static let filenames: [(String, String?)] = [
        ("cat.png", "image/png"), ("cat.tar.gz", "application/gzip"), (".png", "image/png"),
        ("K\u{E4}tzchen.JPG", "image/jpeg"),
        ("png", nil), ("cat.", nil), ("cat.png.", nil), ("", nil), ("a.png/b", nil),
    ]

    @Test(arguments: filenames)
    func aFilenameHasTheTypeOfItsExtension(name: String, type: String?) {
        #expect(MediaTypes.type(ofFilename: name) == type)
    }

    @Test(arguments: [
        ("image/png", "photo.png"), ("IMAGE/JPG", "photo.jpeg"), ("text/plain; charset=utf-8", "photo.txt"),
        ("text/javascript", "photo.js"), ("audio/mpeg", "photo.mp3"), ("audio/mp4", "photo.m4a"),
        ("video/mp4", "photo.mp4"), ("image/svg+xml", "photo.svg"),
        ("application/octet-stream", "photo"), ("application/x-unknown", "photo"), ("", "photo"), ("x", "photo"),
    ])
    func aFileWithoutANameHasTheExtensionOfItsType(type: String, name: String) {
        #expect(MediaTypes.filename(of: "photo", type: type) == name)
    }
}
