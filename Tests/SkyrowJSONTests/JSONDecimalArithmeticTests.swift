import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

@Suite struct JSONDecimalArithmeticTests {
    private func decimal(_ text: String) throws -> JSONDecimal {
        try #require(JSONDecimal(text))
    }

    @Test(
        arguments: [
            ("0", "0", "0"), ("0", "-1.50", "-1.5"), ("1", "2", "3"), ("0.1", "0.2", "0.3"), ("999", "1", "1000"),
            ("1000", "-1", "999"), ("-1", "1", "0"), ("-0.0", "5", "5"), ("5e3", "5e-3", "5000.005"),
            ("9223372036854775807", "1", "9223372036854775808"), ("-2.5", "-7.5", "-10"), ("3", "-10", "-7"),
            ("100", "-0.0001", "99.9999"), ("1e300", "-1e300", "0"), ("12.5", "-2.5", "10"),
        ]
    )
    func sumsAreExact(_ a: String, _ b: String, _ sum: String) throws {
        #expect(try decimal(a).adding(decimal(b))?.plainText == sum)
        #expect(try decimal(b).adding(decimal(a))?.plainText == sum)
    }

    @Test(
        arguments: [
            ("0", "5", "0"), ("-0.0", "-5", "0"), ("12", "12", "144"), ("-1.5", "0.2", "-0.3"), ("99", "99", "9801"),
            ("1e10", "1e-10", "1"), ("0.001", "0.001", "0.000001"), ("-25", "-4e2", "10000"),
            ("9223372036854775807", "9223372036854775807", "85070591730234615847396907784232501249"),
        ]
    )
    func productsAreExact(_ a: String, _ b: String, _ product: String) throws {
        #expect(try decimal(a).multiplied(by: decimal(b))?.plainText == product)
        #expect(try decimal(b).multiplied(by: decimal(a))?.plainText == product)
    }

    @Test(
        arguments: [
            ("0", "0"), ("-0.0", "0"), ("7", "7"), ("-7.50", "-7.5"), ("1e3", "1000"), ("12e-1", "1.2"),
            ("1e-5", "0.00001"), ("-0.0125", "-0.0125"), ("120.0", "120"),
        ]
    )
    func plainTextHasNoExponentAndNoZerosAtItsEnd(_ text: String, _ plain: String) throws {
        let decimal = try decimal(text)
        #expect(decimal.plainText == plain)
        #expect(decimal.plainLength == plain.utf8.count)
    }

    @Test func whatHasTooManyDigitsIsNotComputed() throws {
        #expect(try decimal("1e5000").adding(decimal("1")) == nil)
        #expect(try decimal("1e300").multiplied(by: decimal("1e300"))?.plainLength == 601)
        let long = try decimal(String(repeating: "7", count: 3000))
        #expect(long.multiplied(by: long) == nil)
    }

    /// What PostgreSQL 15 writes of each as `jsonb`.
    @Test(
        arguments: [
            ("null", 4), ("true", 4), ("false", 5), ("0", 1), ("-0", 1), ("-0.0", 3), ("1.50", 4), ("-12", 3),
            ("1e2", 3), ("1.5e1", 2), ("1.50e1", 4), ("1e-3", 5), ("1.5e-3", 6), ("0e5", 1), (#""""#, 2), (#""é""#, 4),
            (#""a\nb\u0001\"\\\/""#, 17), ("[]", 2), ("[1,2]", 6), ("{}", 2), (#"{"a":1,"b":[]}"#, 17),
            (#"{"a":1,"a":22}"#, 9), (#" [ 1 , {"x" : null} ] "#, 16), ("0.00e1", 3),
        ] as [(String, Int)]
    )
    func theLengthIsThatOfTheStoredText(_ text: String, _ length: Int) throws {
        try readJSON(text) { #expect($0.storedLength == length) }
    }

    @Test(
        arguments: [("1", 0), ("[]", 1), ("{}", 1), ("[[1],{\"a\":[2]}]", 3), ("{\"a\":{\"b\":{}}}", 3)]
            as [(String, Int)]
    )
    func theDepthIsThatOfTheDeepestContainer(_ text: String, _ depth: Int) throws {
        try readJSON(text) { #expect($0.depth == depth) }
    }
}
