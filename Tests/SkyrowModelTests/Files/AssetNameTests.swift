import SkyrowModel
import SkyrowTestSupport
import Testing

/// The names of files in the storage: parsed, or made of the names that uploaders give.
@Suite struct AssetNameTests {
    private static let id = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"

    private static let made: [(String, String)] = [
        ("cat.png", "cat.png"), ("Cat-1_b.PNG", "Cat-1_b.PNG"), ("K\u{E4}tzchen 1.png", "K_tzchen_1.png"),
        ("__init__.py", "__init__.py"), ("a  b.png", "a_b.png"), ("a _ b.png", "a___b.png"),
        // Paths
        ("..", ".."), (".", "."), ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"), ("a/b/", "b"), ("/", "_"),
        ("a/..", ".."), ("C:\\Users\\Ann\\cat.png", "cat.png"), ("\\\\server\\share\\cat.png", "cat.png"),
        ("C:cat.png", "C_cat.png"),
        ("a/b\\c", "c"), ("..\\..\\cat.png", "cat.png"), ("~", "_"), ("~root/x", "x"),
        // What addresses and programs treat specially
        ("a+b.png", "a_b.png"), ("%2e%2e%2fcat.png", "_2e_2e_2fcat.png"), ("a?b#c&d=e.png", "a_b_c_d_e.png"),
        ("a\u{0}.png", "a_.png"), ("cat.png\u{0}", "cat.png_"), ("a\r\nb.png", "a_b.png"), ("a\"b.png", "a_b.png"),
        ("\u{202E}gnp.exe", "_gnp.exe"), ("\u{1F431}.png", "_.png"),
        ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}.png", "_.png"), ("\u{65E5}\u{672C}.png", "_.png"),
        ("\u{E9}", "_"), ("e\u{301}.png", "e_.png"),
        // Without an extension, and with odd ones
        ("README", "README"), ("", "_"), (".htaccess", ".htaccess"), ("cat.", "cat."), ("...", "..."),
        ("a..png", "a..png"),
        ("archive.tar.gz", "archive.tar.gz"), ("a.p ng", "a.p_ng"),
    ]

    @Test(arguments: made)
    func aNameKeepsPlainCharacters(filename: String, name: String) {
        let made = AssetName(id: Self.id, filename: filename)
        #expect(made.rawValue == "\(Self.id)-\(name)")
        #expect(made.filename == name)
        #expect(made.id == Self.id)
        #expect(made.tag == "\"\(Self.id)\"")
        #expect(AssetName(made.rawValue) == made)
    }

    private static let hundred = String(repeating: "x", count: 100)

    private static let long: [(String, String)] = [
        (String(repeating: "x", count: 300) + ".png", hundred + ".png"), (String(repeating: "x", count: 300), hundred),
        (hundred + ".png", hundred + ".png"), (hundred + "x.png", hundred + ".png"),
        ("cat." + String(repeating: "e", count: 15), "cat." + String(repeating: "e", count: 15)),
        // No extension, since it is too long
        ("cat." + String(repeating: "e", count: 16), "cat." + String(repeating: "e", count: 16)),
        ("cat." + String(repeating: "e", count: 300), "cat." + String(repeating: "e", count: 96)),
        (hundred + "." + String(repeating: "e", count: 15), hundred + "." + String(repeating: "e", count: 15)),
        (String(repeating: ".", count: 300), String(repeating: ".", count: 100)),
        (String(repeating: "\u{E4}", count: 300) + ".png", "_.png"),
        (String(repeating: "a/", count: 10_000) + "cat.png", "cat.png"),
    ]

    @Test(arguments: long)
    func aLongNameIsCutBeforeItsExtension(filename: String, name: String) {
        let made = AssetName(id: Self.id, filename: filename)
        #expect(made.filename == name)
        #expect(AssetName(made.rawValue) == made)
        #expect(made.rawValue.utf8.count <= AssetName.maximumBytes)
    }

    private static let parsed: [(String, Bool)] = [
        (id + "-cat.png", true), (id + "-..", true), (id + "-_", true), (id + "--", true),
        (id + "-" + String(repeating: "x", count: 116), true), (id + "-" + String(repeating: "x", count: 117), false),
        ("", false), (id, false), (id + "-", false), (id + "_cat.png", false), ("cat.png", false), ("-cat.png", false),
        (id.uppercased() + "-cat.png", false), ("g\(id.dropFirst())-cat.png", false),
        (id.filter { $0 != "-" } + "0000-cat.png", false), ("\(id.dropFirst())-cat.png", false),
        // Paths and what an address could hide
        (id + "-a/b", false), (id + "-../x", false), ("../" + id + "-cat.png", false), ("/" + id + "-cat.png", false),
        ("..-" + id + "-cat.png", false), (id + "-a\\b", false), (id + "-a\u{0}", false), (id + "-%2e%2e", false),
        (id + "-a+b", false), (id + "-a b", false), (id + "-a~", false), (id + "-\u{E4}.png", false),
        (id + "-a\u{301}", false), (id + "-\u{202E}gnp.exe", false), (id + "-\u{1F431}", false), (id + "-a\r\n", false),
        (id + "-cat.png?x", false), (" " + id + "-cat.png", false), (id + "-cat.png ", false),
        (String(repeating: id, count: 10_000), false),
    ]

    @Test(arguments: parsed)
    func aNameIsAUUIDAndPlainCharacters(text: String, isName: Bool) {
        #expect((AssetName(text)?.rawValue == text) == isName, "\(text.prefix(200))")
        #expect((AssetName(text) != nil) == isName)
        #expect((AssetName(("x" + text).dropFirst()) != nil) == isName)
    }

    /// Names of any characters: each makes a name that is parsed, and that no path or header field reads in another way.
    @Test func everyFilenameMakesAName() {
        var random = SeededGenerator.forTest()
        let letters = Array("abcXYZ019._-/\\ +%\"\u{0}\r\n\u{E9}\u{202E}\u{1F431}\u{301}".unicodeScalars)
        for _ in 0..<seededCases(5000) {
            var filename = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<180, using: &random) {
                filename.append(letters.randomElement(using: &random) ?? "a")
            }
            let made = AssetName(id: Self.id, filename: String(filename))
            #expect(AssetName(made.rawValue) == made, "\(String(filename).debugDescription)")
        }
    }
}
