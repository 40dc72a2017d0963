import SkyrowModel
import SkyrowStore
import Testing

@Suite struct SealingKeysTests {
    private static func key(_ name: String, _ byte: UInt8) throws -> SealingKey {
        try #require(SealingKey(name: name, bytes: [UInt8](repeating: byte, count: 32)))
    }

    @Test func theFirstKeySealsAndAllOpen() throws {
        let secrets: [UInt8: [UInt8]] = [1: [1, 2, 3], 2: [4, 5, 6]]
        let place = ["_factor", "totp", "ann"]
        let own = SealingKeys(given: [], secrets: secrets)
        let old = SealingKeys(given: [try Self.key("k1", 1)], secrets: secrets)
        let new = SealingKeys(given: [try Self.key("k2", 2), try Self.key("k1", 1)], secrets: secrets)
        for sealer in [own, old, new] {
            let sealed = try sealer.seal([7, 8, 9], for: place)
            #expect(new.open(sealed, for: place) == [7, 8, 9])
            #expect(try sealer.seal([7, 8, 9], for: place) != sealed)
        }
        let sealed = try new.seal([7], for: place)
        // Without its key nothing opens it, nor does another one of its name.
        #expect(own.open(sealed, for: place) == nil && old.open(sealed, for: place) == nil)
        let false2 = SealingKeys(given: [try Self.key("k2", 3)], secrets: [:])
        #expect(false2.open(sealed, for: place) == nil)
        #expect(throws: SkyrowError.self) { try SealingKeys(given: [], secrets: [:]).seal([1], for: place) }
    }

    @Test func whatIsCopiedToAnotherPlaceOrCutOpensNothing() throws {
        let keys = SealingKeys(given: [try Self.key("k1", 1)], secrets: [:])
        let sealed = try keys.seal([7, 8, 9], for: ["_factor", "totp", "ann"])
        for place in [["_factor", "totp", "bob"], ["_factor", "totpann"], ["_factor", "totp", "ann", ""], []] {
            #expect(keys.open(sealed, for: place) == nil)
        }
        for count in 0..<sealed.count {
            #expect(keys.open(Array(sealed.prefix(count)), for: ["_factor", "totp", "ann"]) == nil)
        }
    }

    @Test func aKeyHasANameAndThirtyTwoBytes() {
        let bytes = [UInt8](repeating: 1, count: 32)
        for name in ["", "_1", "K1", "a b", String(repeating: "a", count: 17), "ä"] {
            #expect(SealingKey(name: name, bytes: bytes) == nil, "\(name)")
        }
        #expect(SealingKey(name: "k1", bytes: Array(bytes.dropLast())) == nil)
        #expect(SealingKey(name: "k1", bytes: bytes) != nil)
    }
}
