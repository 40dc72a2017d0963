import SkyrowCrypto
import SkyrowJSON
import Testing

/// The examples of RFC 1321.
@Suite struct MD5Tests {
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func aTextHasItsKnownDigest(text: String, digits: String) {
        var hash = MD5()
        hash.update(Array(text.utf8))
        let digest = hash.finish()
        #expect(digest.count == MD5.byteCount)
        #expect(Hexadecimal.text(digest) == digits)
    }

    @Test(arguments: [1, 63, 64, 65, 1000, 1_000_000])
    func aDigestDoesNotDependOnTheParts(length: Int) {
        let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        var hash = MD5()
        for start in stride(from: 0, to: million.count, by: length) {
            hash.update(Array(million[start..<min(start + length, million.count)]))
            hash.update([])
        }
        #expect(Hexadecimal.text(hash.finish()) == "7707d6ae4e027c70eea2a935c2296f21")
    }

    @Test func aCopyGoesOnByItself() {
        var hash = MD5()
        hash.update(Array("ab".utf8))
        var copy = hash
        copy.update(Array("x".utf8))
        hash.update(Array("c".utf8))
        #expect(Hexadecimal.text(hash.finish()) == "900150983cd24fb0d6963f7d28e17f72")
        #expect(Hexadecimal.text(copy.finish()) == "ffc810508b973a0cc3fba9474a856ba7")
    }
}
