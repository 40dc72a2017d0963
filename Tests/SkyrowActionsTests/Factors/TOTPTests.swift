import Testing

@testable import SkyrowActions

@Suite struct TOTPTests {
    private let totp = TOTP(secret: Array("12345678901234567890".utf8))

    /// The examples of RFC 6238, appendix B, of which six digits are sent.
    @Test(
        arguments: [
            (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
            (2_000_000_000, "279037"), (20_000_000_000, "353130"),
        ] as [(Int64, String)]
    )
    func theCodesOfTheStandardAreMade(_ seconds: Int64, _ code: String) {
        #expect(totp.code(at: seconds / 30) == code)
        #expect(totp.step(of: code, around: seconds / 30) == seconds / 30)
    }

    @Test func aCodeCountsForThreeHalfMinutes() {
        let code = totp.code(at: 100)
        for (step, found) in [(98, nil), (99, 100), (100, 100), (101, 100), (102, nil)] as [(Int64, Int64?)] {
            #expect(totp.step(of: code, around: step) == found)
        }
        for text in ["", "0", "00000000", code + "0", "abcdef"] { #expect(totp.step(of: text, around: 100) == nil) }
    }

    /// RFC 4648, section 10, without padding.
    @Test(arguments: [
        ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
        ("foobar", "MZXW6YTBOI"),
    ])
    func secretsAreWrittenInBase32(_ text: String, _ encoded: String) {
        #expect(Base32.encode(Array(text.utf8)) == encoded)
        #expect(Base32.decode(encoded) == Array(text.utf8))
    }

    @Test func theAddressHoldsNothingThatEndsAPart() {
        let uri = totp.uri(issuer: "A&B: C", account: "ann?x=1#y@example.org")
        #expect(
            uri == "otpauth://totp/A%26B%3A%20C:ann%3Fx%3D1%23y%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
                + "&issuer=A%26B%3A%20C&algorithm=SHA1&digits=6&period=30"
        )
    }

    @Test func aRecoveryCodeIsReadAsPeopleTypeIt() throws {
        let code = RecoveryCode()
        #expect(code.shown.utf8.count == 11)
        #expect(RecoveryCode(code.shown) == code)
        #expect(RecoveryCode(" \(code.shown.uppercased()) ") == code)
        #expect(try #require(RecoveryCode("OIL00-11111")).text == "0110011111")
        for text in ["", "123456", "u0000-00000", code.shown + "0", String(repeating: "0", count: 100)] {
            #expect(RecoveryCode(text) == nil)
        }
        #expect(Set((0..<100).map { _ in RecoveryCode() }).count == 100)
    }
}
