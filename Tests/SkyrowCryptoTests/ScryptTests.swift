import SkyrowCrypto
import SkyrowJSON
import Testing

/// The test vectors of RFC 7914, section 12, but for the one that takes a gigabyte.
@Suite struct ScryptTests {
    struct Vector: Sendable {
        let password: String
        let salt: String
        let cost: (logN: Int, r: Int, p: Int)
        let key: String
    }

    @Test(arguments: [
        Vector(
            password: "",
            salt: "",
            cost: (4, 1, 1),
            key: "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
                + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
        ),
        Vector(
            password: "password",
            salt: "NaCl",
            cost: (10, 8, 16),
            key: "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
                + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
        ),
        Vector(
            password: "pleaseletmein",
            salt: "SodiumChloride",
            cost: (14, 8, 1),
            key: "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
        ),
    ])
    func aPasswordHasItsKnownKey(vector: Vector) throws {
        let key = try key(of: vector.password, salt: vector.salt, cost: vector.cost, count: 64)
        #expect(Hexadecimal.text(key) == vector.key)
    }

    @Test(arguments: [
        (0, 8, 1), (63, 8, 1), (64, 8, 1), (-1, 8, 1), (4, 0, 1), (4, -8, 1), (4, 8, 0), (4, 1 << 20, 1 << 20),
    ])
    func whatIsNoCostIsRefused(cost: (Int, Int, Int)) {
        #expect(throws: Scrypt.Failure.self) { try key(of: "secret", salt: "salt", cost: cost, count: 32) }
    }

    @Test func aCostThatNoMachineHasTheMemoryForIsRefused() {
        #expect(throws: Scrypt.Failure.self) { try key(of: "secret", salt: "salt", cost: (50, 8, 1), count: 32) }
    }

    @Test func bytesAreComparedWhole() {
        #expect([UInt8]().isEqualInConstantTime(to: []))
        #expect([1, 2, 3].isEqualInConstantTime(to: [1, 2, 3]))
        #expect(![1, 2, 3].isEqualInConstantTime(to: [1, 2, 4]))
        #expect(![1, 2, 3].isEqualInConstantTime(to: [1, 2]))
        #expect(![1, 2, 3].isEqualInConstantTime(to: []))
    }

    @Test func aCleansedSecretIsZeros() {
        var secret = Array("secret".utf8)
        secret.cleanse()
        #expect(secret == [0, 0, 0, 0, 0, 0])
    }

    private func key(of password: String, salt: String, cost: (Int, Int, Int), count: Int) throws -> [UInt8] {
        try Scrypt.key(
            of: Array(password.utf8),
            salt: Array(salt.utf8),
            logN: cost.0,
            r: cost.1,
            p: cost.2,
            count: count
        )
    }
}
