import SkyrowJSON
import Testing

@Suite struct HTTPDateTests {
    @Test(arguments: [
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
    ])
    func aSecondHasAText(_ second: Int, _ text: String) {
        #expect(HTTPDate.text(second: second) == text)
        #expect(HTTPDate.text(second: second, zone: "+0000") == text.replacing("GMT", with: "+0000"))
        #expect(HTTPDate.seconds(text) == (second < 0 ? nil : Int64(second)))
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200), ("Tue, 28 Feb 2100 12:00:00 GMT", 4_107_499_200),
            ("", nil), ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun Nov  6 08:49:37 1994", nil),
            ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 6 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Now 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 24:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:49 GMT", nil), ("Sun, 06 Nov 1969 08:49:37 GMT", nil),
            ("Sun, -6 Nov 1994 08:49:37 GMT", nil), ("Mon, 31 Nov 1994 08:49:37 GMT", nil),
            ("Mon, 29 Feb 2100 08:49:37 GMT", nil),
        ] as [(String, Int64?)]
    )
    func aTextIsReadStrictly(_ text: String, _ seconds: Int64?) {
        #expect(HTTPDate.seconds(text) == seconds)
    }
}
