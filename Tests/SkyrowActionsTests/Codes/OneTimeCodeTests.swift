import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct OneTimeCodeTests {
    @Test func codesDifferAndHaveTheirForms() {
        var generator = SeededGenerator(seed: 11)
        let codes = (0..<2000).map { _ in OneTimeCode(using: &generator) }
        #expect(Set(codes.map(\.link)).count == codes.count)
        #expect(Set(codes.map(\.id)).count == codes.count)
        #expect(codes.allSatisfy { $0.link.utf8.count == 43 && $0.digits.utf8.count == 6 && $0.id.count == 16 })
        // Each digit comes at each place, also as the first one.
        for place in 0..<6 {
            #expect(Set(codes.map { Array($0.digits.utf8)[place] }).count == 10)
        }
    }

    @Test(
        arguments: [
            ("012345", "012345"), ("012 345", "012345"), ("012-345", "012345"), (" 012345 ", "012345"),
            ("01234", nil), ("0123456", nil), ("01234a", nil), ("٠١٢٣٤٥", nil), ("", nil),
        ] as [(String, String?)]
    )
    func digitsAreReadAsPeopleTypeThem(_ text: String, _ digits: String?) {
        #expect(OneTimeCode.digits(text) == digits)
    }

    @Test func aHandleIsReadAsItIsWritten() {
        let code = OneTimeCode()
        let handle = CodeHandle(code.id)
        #expect(handle.description.hasPrefix("c_"))
        #expect(CodeHandle(handle.description) == handle)
        for text in ["", "c_", "c_short", String(handle.description.dropFirst(2)), handle.description + "A", "c_ä"] {
            #expect(CodeHandle(text) == nil, "\(text)")
        }
    }

    @Test func digitsAreComparedUnderEveryKey() throws {
        let old: [UInt8] = Array(repeating: 1, count: 32)
        let new: [UInt8] = Array(repeating: 2, count: 32)
        let id: [UInt8] = Array(repeating: 7, count: 16)
        let before = try #require(CodeKeys(secrets: [1: old]))
        let after = try #require(CodeKeys(secrets: [1: old, 2: new]))
        let hash = before.hash("012345", of: id)
        #expect(after.matches("012345", of: id, hash))
        #expect(after.hash("012345", of: id) != hash)
        #expect(!before.matches("012345", of: id, after.hash("012345", of: id)))
        #expect(!before.matches("012346", of: id, hash))
        #expect(!before.matches("012345", of: Array(repeating: 8, count: 16), hash))
        #expect(CodeKeys(secrets: [:]) == nil)
    }

    @Test func aSignatureIsOfTheseTexts() throws {
        let keys = try #require(CodeKeys(secrets: [1: Array(repeating: 1, count: 32)]))
        let signature = keys.signature(of: ["/auth/reset", "ab", "1"])
        #expect(keys.isSignature(signature, of: ["/auth/reset", "ab", "1"]))
        for others in [["/auth/verify", "ab", "1"], ["/auth/reset", "a", "b1"], ["/auth/resetab", "1"], []] {
            #expect(!keys.isSignature(signature, of: others))
        }
        #expect(!keys.isSignature("", of: []))
    }

    @Test func mailIsTriedAgainLessAndLessOften() {
        #expect([1, 2, 3, 4, 11].map { MailRetry.pause(after: $0) } == [60, 120, 240, 480, 61_440])
        // It ends by the age of the mail, and has no number that is too large for a table.
        #expect(MailRetry.pause(after: 1_000_000) == 122_880)
        #expect(MailRetry.pause(after: 0) == 60)
    }
}
