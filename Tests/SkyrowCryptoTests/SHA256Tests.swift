import SkyrowCrypto
import SkyrowJSON
import Testing

/// The examples of FIPS 180-4.
@Suite struct SHA256Tests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ])
    func aTextHasItsKnownHash(text: String, digits: String) {
        #expect(Hexadecimal.text(SHA256.hash(of: text).bytes) == digits)
    }

    @Test(arguments: [1, 63, 64, 65, 1000, 1_000_000])
    func aHashDoesNotDependOnTheParts(length: Int) {
        let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        var hash = SHA256()
        for start in stride(from: 0, to: million.count, by: length) {
            hash.update(Array(million[start..<min(start + length, million.count)]))
            hash.update([])
        }
        let digits = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(Hexadecimal.text(hash.finish().bytes) == digits)
    }

    @Test func aCopyGoesOnByItself() {
        var hash = SHA256()
        hash.update(Array("ab".utf8))
        var copy = hash
        copy.update(Array("x".utf8))
        hash.update(Array("c".utf8))
        #expect(hash.finish() == SHA256.hash(of: "abc"))
        #expect(copy.finish() == SHA256.hash(of: "abx"))
    }

    @Test func hashesThatDifferInOneByteAreNotEqual() {
        #expect(SHA256.hash(of: "abc") == SHA256.hash(of: "abc"))
        #expect(SHA256.hash(of: "abc") != SHA256.hash(of: "abd"))
    }
}
