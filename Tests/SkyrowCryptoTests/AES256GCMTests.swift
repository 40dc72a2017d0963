import SkyrowCrypto
import SkyrowJSON
import Testing

/// Test case 16 of "The Galois/Counter Mode of Operation" by McGrew and Viega, and what must not open.
@Suite struct AES256GCMTests {
    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    private let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    private let nonce = bytes("cafebabefacedbaddecaf888")
    private let further = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    private let plain = bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    private let sealed = bytes(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
            + "76fc6ece0f4e1768cddf8853bb2d551b"
    )

    @Test func theKnownCaseIsSealedAndOpened() throws {
        #expect(try AES256GCM.seal(plain, key: key, nonce: nonce, authenticating: further) == sealed)
        #expect(AES256GCM.open(sealed, key: key, nonce: nonce, authenticating: further) == plain)
        let empty = try AES256GCM.seal([], key: key, nonce: nonce, authenticating: [])
        #expect(empty.count == 16)
        #expect(AES256GCM.open(empty, key: key, nonce: nonce, authenticating: []) == [])
    }

    @Test func whatWasChangedIsNotOpened() {
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1
            #expect(AES256GCM.open(changed, key: key, nonce: nonce, authenticating: further) == nil)
        }
        #expect(AES256GCM.open(sealed, key: key, nonce: nonce, authenticating: []) == nil)
        #expect(AES256GCM.open(sealed, key: key.reversed(), nonce: nonce, authenticating: further) == nil)
        #expect(AES256GCM.open(sealed, key: key, nonce: nonce.reversed(), authenticating: further) == nil)
        #expect(AES256GCM.open(Array(sealed.prefix(15)), key: key, nonce: nonce, authenticating: further) == nil)
        for (key, nonce) in [(Array(key.dropLast()), nonce), (key, Array(nonce.dropLast()))] {
            #expect(throws: AES256GCM.Failure.self) {
                try AES256GCM.seal(plain, key: key, nonce: nonce, authenticating: further)
            }
            #expect(AES256GCM.open(sealed, key: key, nonce: nonce, authenticating: further) == nil)
        }
    }
}
