import SkyrowModel
import Testing

@testable import SkyrowQuery

/// Words of texts, and what is asked of them.
@Suite struct WordQueryTests {
    static let texts: [(String, [String])] = [
        ("", []), (" -- !? ", []), ("Star Wars: Episode IV", ["star", "wars", "episode", "iv"]),
        ("don't re-do a_b 3.5", ["don", "t", "re", "do", "a", "b", "3", "5"]),
        ("Élan ΣΑΣ Ünder«x»", ["élan", "σασ", "ünder", "x"]),
        ("a\u{A0}b\u{2003}c\u{3000}d–e…f", ["a", "b", "c", "d", "e", "f"]),
        ("東京、大阪。", ["東京", "大阪"]), ("e\u{301}t\u{1F95B}", ["e\u{301}t\u{1F95B}"]), ("İ", ["i\u{307}"]),
        (String(repeating: "x", count: 300) + " y", [String(repeating: "x", count: 255), "y"]),
    ]

    @Test(arguments: texts) func aTextHasTheseWords(_ text: String, _ words: [String]) {
        #expect(Words.words(of: text).map { Array($0.utf8) } == words.map { Array($0.utf8) })
    }

    @Test func onlyTheBeginningOfALongTextIsLookedAt() {
        #expect(Words.words(of: String(repeating: "a ", count: 40_000)).count == 30_000)
        let text = String(repeating: "a", count: 249_999) + " end"
        #expect(Words.words(of: text) == [String(repeating: "a", count: 255)])
        #expect(Words.words(of: String(repeating: "a", count: 249_998) + " end").last == "e")
    }

    struct Row: Sendable {
        let question: String
        let tsquery: String
        let matching: [String]
        let others: [String]

        init(_ question: String, _ tsquery: String, _ matching: [String], not others: [String]) {
            self.question = question
            self.tsquery = tsquery
            self.matching = matching
            self.others = others
        }
    }

    static let rows: [Row] = [
        Row("Star", "'star'", ["A STAR", "star-crossed"], not: ["stars", ""]),
        Row("star wars", "('star' & 'wars')", ["wars of a star"], not: ["star"]),
        Row("wor*", "'wor':*", ["wor", "Words"], not: ["sword"]),
        Row("-star", "!('star')", ["", "stars"], not: ["star"]),
        Row("star -trek", "('star' & !('trek'))", ["star"], not: ["star trek", "x"]),
        Row("star or trek", "('star' | 'trek')", ["star", "trek"], not: ["x"]),
        Row("a b OR c d", "('a' & ('b' | 'c') & 'd')", ["a c d", "a b d"], not: ["a d", "b c"]),
        Row("a or b or c*", "('a' | 'b' | 'c':*)", ["cc"], not: ["bb"]),
        Row("a or -b", "('a' | !('b'))", ["", "a b"], not: ["b"]),
        // Between nothing it is a word.
        Row("or", "'or'", ["this or that"], not: ["x"]), Row("a or", "('a' & 'or')", ["a or b"], not: ["a"]),
        Row("Or else", "('or' & 'else')", ["or else"], not: ["else"]),
        Row("a or or", "('a' | 'or')", ["a", "or"], not: ["x"]),
        Row("don't -re-do", "(('don' & 't') & !(('re' & 'do')))", ["t don"], not: ["don", "don t do re"]),
        Row("x-ray*", "('x' & 'ray':*)", ["rays of x"], not: ["x"]),
        Row("a - ! * b", "('a' & 'b')", ["a b"], not: ["a"]),
        Row("a or - b", "('a' & 'b')", ["a b"], not: ["a"]),
        Row("'); DROP & | ! <-> :*\\", "'drop'", ["drop"], not: ["x"]),
        Row("É\u{3000}İ", "('é' & 'i\u{307}')", ["İ É"], not: ["i é"]),
        Row("", "", [], not: ["", "a"]), Row(" - * ", "", [], not: ["", "a"]),
    ]

    @Test(arguments: rows) func aQuestionMeansWhatItSays(_ row: Row) throws {
        let query = try WordQuery(row.question)
        #expect(query.tsquery == row.tsquery, "\(row.question)")
        #expect(query.hasWords == !row.tsquery.isEmpty)
        for text in row.matching { #expect(query.matches(text) == true, "\(row.question) in \(text)") }
        for text in row.others { #expect(query.matches(text) == false, "\(row.question) in \(text)") }
    }

    /// Terms go as they are, in quotes, to PostgreSQL, which parts them.
    @Test(arguments: [
        ("Stars", "'Stars'"), ("don't -re-do", "('don''t' & !('re-do'))"), ("wor* --x", "('wor':* & !('-x'))"),
        ("\"a new hope\"", "'a new hope'"), ("a \"b c", "('a' & 'b c')"), ("-\"b c\" or d", "(!('b c') | 'd')"),
        ("x\"b c\"y*", "('x' & 'b c' & 'y':*)"), ("\"or\" or or", "('or' | 'or')"), ("a\\b", "'a\\\\b'"),
        ("foo@bar.com", "'foo@bar.com'"), ("\"\" - \"!\" a", "'a'"), ("\"", ""), ("'", ""),
        ("a or \"\" or b", "('a' | 'b')"),
    ])
    func aQuestionInALanguageKeepsItsTerms(question: String, tsquery: String) throws {
        let query = try WordQuery(question, in: .english)
        #expect(query.tsquery == tsquery && query.matches("a") == nil, "\(question)")
    }

    @Test func whatIsTooMuchIsRefused() throws {
        func words(_ count: Int) -> String { (0..<count).map { "w\($0)" }.joined(separator: " ") }
        _ = try WordQuery(words(32))
        for text in [words(33), words(31) + " a-b", String(repeating: "x", count: 1025), "\"a phrase\"", "a \"b"] {
            #expect(throws: WordQueryMisfit.self) { try WordQuery(text) }
        }
        _ = try WordQuery(String(repeating: "x", count: 1024))
        _ = try WordQuery("\"\(words(32))\"", in: .english)
        #expect(throws: WordQueryMisfit.self) { try WordQuery("\"\(words(33))\"", in: .english) }
    }
}
