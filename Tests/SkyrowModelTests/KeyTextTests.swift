import SkyrowModel
import SkyrowTestSupport
import Testing

/// The texts of keys: what is made is read, and nothing else.
@Suite struct KeyTextTests {
    private static let secret = String(repeating: "aB3", count: 14) + "z"

    private static func key(_ application: String = "app") throws -> KeyText {
        KeyText(try #require(KeyID("k7f3q9x2a")), secret: secret, of: try ApplicationName(application))
    }

    @Test(arguments: ["app", "shop", "a_shop_of_ours"])
    func whatIsMadeIsRead(application: String) throws {
        let key = try Self.key(application)
        let read = try #require(KeyText(key.text))
        #expect(read == key)
        #expect(read.id.rawValue == "k7f3q9x2a")
        #expect(read.application?.rawValue == (application == "app" ? nil : application))
        #expect(KeyText.isLikely(key.text))
    }

    /// The text is the same in every version: scanners and clients know it.
    @Test func theFormIsFixed() throws {
        #expect(try Self.key().text == "sky_k7f3q9x2a_\(Self.secret)_\(try Self.key().text.suffix(6))")
        #expect(try Self.key("shop").text.hasPrefix("sky_shop.k7f3q9x2a_"))
        #expect(try Self.key().text.utf8.count == 4 + 9 + 1 + 43 + 1 + 6)
    }

    /// As another program computes it from what stands before.
    @Test func theChecksumIsThatOfZlib() throws {
        let text = try Self.key().text
        let body = text.dropLast(7)
        var remainder: UInt32 = .max
        for byte in body.utf8 {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
        }
        var number = Int(~remainder)
        var digits = ""
        let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        for _ in 0..<6 {
            digits = String(alphabet[number % 62]) + digits
            number /= 62
        }
        #expect(text.hasSuffix("_\(digits)"))
    }

    @Test func everyOtherByteMakesAnotherText() throws {
        let bytes = Array(try Self.key("shop").text.utf8)
        for place in bytes.indices {
            for other in [UInt8(ascii: "0"), UInt8(ascii: "q"), UInt8(ascii: "_"), UInt8(ascii: "."), 0x20, 0xC3]
            where other != bytes[place] {
                var changed = bytes
                changed[place] = other
                #expect(KeyText(String(decoding: changed, as: UTF8.self)) == nil, "\(place) \(other)")
            }
            #expect(KeyText(String(decoding: bytes[..<place], as: UTF8.self)) == nil)
            #expect(KeyText(String(decoding: bytes[(place + 1)...], as: UTF8.self)) == nil)
        }
    }

    @Test(arguments: [
        "", "sky_", "sky____", "sky_k7f3q9x2a", "sk_live_1", "SKY_k7f3q9x2a_x_y", "sky_k7f3q9x2a__",
        "sky_\u{0}_\u{0}_\u{0}",
        String(repeating: "sky_", count: 100_000), "sky_" + String(repeating: "_", count: 200),
    ])
    func otherTextsAreNoKeys(text: String) {
        #expect(KeyText(text) == nil)
    }

    /// Texts of the letters that keys are made of, some of which are nearly keys.
    @Test func noTextOfChanceIsAKey() throws {
        var generator = SeededGenerator.forTest()
        let letters = Array("sky_k0aZ.\u{E9}")
        let key = Array(try Self.key().text)
        for _ in 0..<20_000 {
            var text = key
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                text = (0..<Int.random(in: 0..<80, using: &generator)).map { _ in
                    letters.randomElement(using: &generator) ?? "s"
                }
            case 1:
                text[Int.random(in: text.indices, using: &generator)] = letters.randomElement(using: &generator) ?? "s"
            default: text.remove(at: Int.random(in: text.indices, using: &generator))
            }
            guard text != key else { continue }
            let read = KeyText(String(text))
            #expect(read == nil, "\(String(text))")
        }
    }

    @Test(arguments: [
        ("k7f3q9x2a", true), ("k00000000", true), ("k7f3q9x2", false), ("k7f3q9x2ab", false), ("K7f3q9x2a", false),
        ("x7f3q9x2a", false), ("k7f3q9X2a", false), ("k7f3q9x2_", false), ("", false),
    ])
    func anIDIsKAndEightLettersOrDigits(_ text: String, _ isID: Bool) {
        #expect((KeyID(text) != nil) == isID)
    }

    @Test func idsAreDrawn() {
        var generator = SeededGenerator.forTest()
        let ids = Set((0..<1000).map { _ in KeyID(using: &generator) })
        #expect(ids.count == 1000)
        #expect(ids.filter { KeyID($0.rawValue) != $0 }.isEmpty)
    }
}
