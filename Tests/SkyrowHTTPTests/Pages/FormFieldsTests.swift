import SkyrowJSON
import Testing

@testable import SkyrowHTTP

@Suite struct FormFieldsTests {
    @Test(
        arguments: [
            ("code=abc", "abc"), ("a=1&code=abc&b=2", "abc"), ("code=a%2Bb+c%26", "a+b c&"), ("code=%C3%BC", "ü"),
            ("code=first&code=second", "first"), ("code=", ""), ("code", ""), ("code=a=b", "a=b"), ("c%6Fde=x", "x"),
            ("", nil), ("other=1", nil), ("&&", nil),
        ] as [(String, String?)]
    )
    func aFieldIsReadAsBrowsersWriteIt(_ text: String, _ value: String?) {
        #expect(FormFields(text.utf8)?["code"] == value)
    }

    @Test(arguments: ["code=%", "code=%4", "code=%GG", "code=%FF", "%=1", String(repeating: "a=1&", count: 21)])
    func whatNoBrowserWritesIsNoForm(_ text: String) {
        #expect(FormFields(text.utf8) == nil)
    }

    @Test(arguments: [("a+b%20c", true, "a b c"), ("a+b%20c", false, "a+b c"), ("%2B", false, "+"), ("%f", false, nil)])
    func aPlusIsASpaceOnlyInForms(_ text: String, _ plusIsSpace: Bool, _ value: String?) {
        #expect(FormFields.decoded(text.utf8, plusIsSpace: plusIsSpace) == value)
    }

    @Test func textsCannotEndTheirPlace() {
        #expect(
            #"<a href="x" b='y'>&amp;"#.escapedForHTML
                == "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;"
        )
    }
}
