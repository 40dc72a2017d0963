import Testing

@testable import SkyrowQuery

/// The regular expressions of queries: what is read, what it means, and what PostgreSQL is sent.
@Suite struct RegexPatternTests {
    struct Row: Sendable {
        let pattern: String
        var folds = false
        let postgres: String
        let matching: [String]
        let others: [String]

        init(_ pattern: String, folds: Bool = false, _ postgres: String, _ matching: [String], not others: [String]) {
            self.pattern = pattern
            self.folds = folds
            self.postgres = postgres
            self.matching = matching
            self.others = others
        }
    }

    static let rows: [Row] = [
        Row(
            "^Star (Wars|Trek)",
            "^Star (?:Wars|Trek)",
            ["Star Wars", "Star Trek II"],
            not: ["star Wars", "A Star Wars"]
        ),
        Row("", "(?:)", ["", "a"], not: []),
        Row("^$", "^$", [""], not: ["a", "\n"]),
        Row("a.b", "a.b", ["a\nb", "aéb", "xa\u{1F95B}b"], not: ["ab", "a"]),
        Row("^.$", "^.$", ["\u{10FFFF}", "é", "\n"], not: ["e\u{301}", ""]),
        Row("^a$", "^a$", ["a"], not: ["a\n", "\na", "aa"]),
        Row("colou?r", "colou?r", ["color", "colours"], not: ["colouur"]),
        Row("^a*$", "^a*$", ["", "aaa"], not: ["ab"]), Row("^a+$", "^a+$", ["a", "aa"], not: [""]),
        Row("^a{2}$", "^a{2}$", ["aa"], not: ["a", "aaa"]), Row("^a{2,}$", "^a{2,}$", ["aa", "aaaa"], not: ["a"]),
        Row("^a{1,2}$", "^a{1,2}$", ["a", "aa"], not: ["", "aaa"]), Row("^a{1}b{0}$", "^a(?:)$", ["a"], not: ["ab"]),
        Row("^(?:ab|c){2}$", "^(?:ab|c){2}$", ["abc", "cab", "cc"], not: ["ab"]),
        Row("a||b", "a|(?:)|b", ["", "x"], not: []), Row("^(|b)$", "^(?:(?:)|b)$", ["", "b"], not: ["bb"]),
        Row("^(a(b)?)+$", "^(?:ab?)+$", ["abab", "aab"], not: ["ba"]),
        Row("^[a-c_-]+$", "^[\\-_a-c]+$", ["a-b_"], not: ["d", ""]),
        Row("[^a-c]", "[^a-c]", ["d", "ad", "\n"], not: ["abc"]),
        Row("^[\\]]$", "^\\]$", ["]"], not: ["["]),
        Row("^[[a^]$", "^[\\[\\^a]$", ["[", "a", "^"], not: ["]"]),
        Row("^[\\d_]\\D$", "^[0-9_][^0-9]$", ["1a", "_é"], not: ["11", "a1"]),
        Row("^[^\\W]+$", "^[0-9A-Z_a-z]+$", ["aZ_9"], not: ["é", " "]),
        Row("^\\w$", "^[0-9A-Z_a-z]$", ["a"], not: ["é"]),
        Row("^\\s\\S$", "^[\t-\r ][^\t-\r ]$", ["\ta", " \u{A0}"], not: ["a ", "\u{A0}a"]),
        Row("^[\\s\\S]$", "^.$", ["\n", "a"], not: ["aa"]),
        Row("\\.\\*\\(\\{\\}\\)\\\\\\/\\-", "\\.\\*\\(\\{\\}\\)\\\\\\/\\-", [".*({})\\/-"], not: ["."]),
        Row("\\n\\t\\u00e9\\uFFFD", "\n\té\u{FFFD}", ["\n\té\u{FFFD}"], not: ["nt"]),
        Row("^[\u{10000}-\u{10FFFF}]+$", "^[^\u{1}-\u{FFFF}]+$", ["\u{1F95B}\u{10FFFF}"], not: ["\u{FFFF}", "a"]),
        Row("^[\u{D7FF}-\u{E000}]$", "^[\u{D7FF}-\u{E000}]$", ["\u{D7FF}", "\u{E000}"], not: ["\u{E001}"]),
        Row("x]y}z", "x\\]y\\}z", ["x]y}z"], not: ["xyz"]),
        Row("É+ΣA\\w", folds: true, "é+σa[0-9A-Z_a-z]", ["ééσab", "éσaz"], not: ["éσA", "éς"]),
        Row("^[A-CÉΣ-]$", folds: true, "^[\\-A-Ca-cÉéΣσ]$", ["a", "c", "é", "σ", "-"], not: ["d"]),
        Row("^[^A-C]$", folds: true, "^[^A-Ca-c]$", ["d"], not: ["a", "b"]),
        Row("İ", folds: true, "i\u{307}", ["xi\u{307}"], not: ["i"]),
    ]

    @Test(arguments: rows) func aPatternMeansWhatItSays(_ row: Row) throws {
        let pattern = try RegexPattern(row.pattern, folds: row.folds)
        #expect(pattern.postgresText == row.postgres, "\(row.pattern)")
        for text in row.matching { #expect(pattern.matches(text), "\(row.pattern) in \(text)") }
        for text in row.others { #expect(!pattern.matches(text), "\(row.pattern) in \(text)") }
        // What PostgreSQL is sent is of the subset, and means the same.
        let again = try RegexPattern(row.postgres)
        #expect(again.postgresText == row.postgres)
        for text in row.matching { #expect(again.matches(text), "\(row.postgres) in \(text)") }
        for text in row.others { #expect(!again.matches(text), "\(row.postgres) in \(text)") }
    }

    static let misfits: [(pattern: String, position: Int)] = [
        ("a)", 2), ("(a", 1), ("x(?:a", 2), ("(?=a)", 2), ("(?!a)", 2), ("(?<n>a)", 2), ("(?i)a", 2), ("*a", 1),
        ("a|+", 3),
        ("a**", 3), ("a*?", 3), ("a+?", 3), ("a??", 3), ("a{2}?", 5), ("a*+", 3), ("a{2}{3}", 5), ("a{", 2),
        ("a{x}", 2),
        ("a{,2}", 2), ("a{2", 2), ("a{3,2}", 2), ("a{256}", 3), ("a{1,999999999999999999999}", 5), ("{2}", 1),
        ("^*", 2), ("a$+", 3), ("(^a|b)?", 7), ("\\1", 1), ("(a)\\1", 4), ("\\b", 1), ("a\\Z", 2), ("\\q", 1),
        ("\\", 1),
        ("a\\", 2), ("\\u12", 1), ("\\u00g0", 1), ("\\u0000", 1), ("\\uD83E\\uDD5B", 1), ("\\x41", 1), ("\\p{L}", 1),
        ("[", 1), ("[]", 2), ("[^]", 3), ("[a", 1), ("a[b", 2), ("[[:alpha:]]", 2), ("[a[.b.]]", 3), ("[[=a=]]", 2),
        ("[b-a]", 2), ("[a-\\d]", 2), ("[\\w-z]", 2), ("[\\d\\D]x[^\\d\\D]", 8), ("[\\b]", 2), ("é\0", 2), ("[\0]", 2),
        (String(repeating: "a", count: 257), 1),
    ]

    @Test(arguments: misfits) func whatIsOutsideIsRefusedWithItsPlace(_ pattern: String, _ position: Int) {
        let misfit = #expect(throws: RegexMisfit.self) { try RegexPattern(pattern) }
        #expect(misfit?.position == position, "\(pattern): \(misfit?.reason ?? "")")
        #expect(misfit?.reason.hasSuffix(".") == true)
    }

    @Test func rangesOfTheFoldedTextAreThoseOfThePattern() throws {
        // An upper-case letter is as its lower-case one, in a range too; a set of \w and the like is as it stands.
        let pattern = try RegexPattern("^[À-Þ]+\\W$", folds: true)
        #expect(pattern.matches("àþ ") && pattern.matches("àþé") && !pattern.matches("àþe"))
    }

    // MARK: Bounds

    static let sizes: [(pattern: String, isAllowed: Bool)] = [
        ("a{255}b{255}c{255}d{235}", true), ("a{255}b{255}c{255}d{236}", false), ("(?:a{0,40}){0,25}", false),
        ("(?:ab?){255}", true), ("(?:a?){90}", true), ("(?:a?){255}", false), ("(?:(?:a?){30}){30}", false),
        ("((((a{0,255}){0,255}){0,255}){0,255})", false), ("(a{0,255}){0,40}", false),
        ("(?:[a-z]?[b-y]?[c-x]?[d-w]?[e-v]?[f-u]?[g-t]?){0,70}", false), ("^.{0,255}x.{0,255}y.{0,255}$", true),
        ("((((((((a*)*)*)*)*)*)*)*)*", true), ("(?:(?:a|b|c)*){255}", false),
        (String(repeating: "(", count: 127) + String(repeating: ")", count: 127), true),
        ("^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$", true),
    ]

    @Test(arguments: sizes) func theSizeIsThatOfTheRepetitionsWrittenOut(_ pattern: String, _ isAllowed: Bool) {
        #expect(((try? RegexPattern(pattern)) != nil) == isAllowed, "\(pattern)")
    }

    /// Each would take a backtracking matcher longer than there is time.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "^(a*)*c$", "(a|a)*c", "(?:a?){90}a{90}c", "(?:a*)*(?:a*)*(?:a*)*c", "(?:a|aa)+c", "(.*)*(.*)*(.*)*c",
        ]
    )
    func noTextIsTriedTwice(_ text: String) throws {
        let pattern = try RegexPattern(text)
        #expect(!pattern.matches(String(repeating: "a", count: 3000)))
        #expect(pattern.matches(String(repeating: "a", count: 300) + "c"))
    }

    // MARK: What an index is asked for

    static let parts: [(pattern: String, required: RequiredText?, head: String)] = [
        ("^Star (Wars|Trek)", .all([.text("Star "), .any([.text("Wars"), .text("Trek")])]), "Star "),
        ("Star", .text("Star"), ""), ("^St", nil, "St"), ("a.b", nil, ""), ("^abc?de", nil, "ab"),
        ("abcd+efg", .all([.text("abc"), .text("efg")]), ""), ("(abc)+", .text("abc"), ""), ("(abc)*", nil, ""),
        ("(abc){0,2}x", nil, ""), ("(abc|x)", nil, ""), ("^abc|def", .any([.text("abc"), .text("def")]), ""),
        ("(ab)c", .text("abc"), ""), ("^(ab)c", .text("abc"), "abc"), ("[a]bc", .text("abc"), ""),
        ("[ab]bcd", .text("bcd"), ""),
        ("abc(?:|def)ghi", .all([.text("abc"), .text("ghi")]), ""), ("^^ab", nil, ""),
    ]

    @Test(arguments: parts)
    func everyMatchHasTheTextsThatAreAskedFor(_ text: String, _ required: RequiredText?, _ head: String) throws {
        let pattern = try RegexPattern(text)
        #expect(pattern.required == required, "\(text)")
        #expect(pattern.head == head, "\(text)")
    }
}
