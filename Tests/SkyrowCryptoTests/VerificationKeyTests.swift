import SkyrowCrypto
import SkyrowJSON
import Testing

/// The examples of RFC 7515 (A.1 to A.3) and RFC 8037 (A.4), and what is changed of them.
@Suite struct VerificationKeyTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let algorithm: SignatureAlgorithm
        let key: VerificationKey?
        let message: String
        let signature: String

        var testDescription: String { algorithm.rawValue }
    }

    private static func bytes(_ text: String) -> [UInt8] { Base64URL.decode(text) ?? [] }

    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    private static let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMs"
        + "D1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdV"
        + "MTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"

    static let examples = [
        Example(
            algorithm: .hs256,
            key: VerificationKey(
                secret: bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
            ),
            message: "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(payload)",
            signature: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        ),
        Example(
            algorithm: .rs256,
            key: VerificationKey(rsaModulus: bytes(modulus), exponent: [1, 0, 1]),
            message: "eyJhbGciOiJSUzI1NiJ9.\(payload)",
            signature:
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t"
                + "1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12j"
                + "zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQ"
                + "Ge77Rw"
        ),
        Example(
            algorithm: .es256,
            key: VerificationKey(
                p256X: bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                y: bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
            ),
            message: "eyJhbGciOiJFUzI1NiJ9.\(payload)",
            signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
        Example(
            algorithm: .edDSA,
            key: VerificationKey(ed25519: bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")),
            message: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            signature: "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        ),
    ]

    @Test(arguments: examples)
    func theSignaturesOfTheStandardsHold(_ example: Example) throws {
        let key = try #require(example.key)
        let signature = Self.bytes(example.signature)
        let message = Array(example.message.utf8)
        #expect(key.fits(example.algorithm))
        #expect(key.isSignature(signature, of: message, example.algorithm))
        // Another byte in either, a part of the signature and none.
        var others = [Array(signature.dropLast()), [], signature + [0]]
        for place in [0, signature.count / 2, signature.count - 1] {
            var changed = signature
            changed[place] ^= 1
            others.append(changed)
        }
        for other in others { #expect(!key.isSignature(other, of: message, example.algorithm)) }
        #expect(!key.isSignature(signature, of: message + [0], example.algorithm))
        #expect(!key.isSignature(signature, of: [], example.algorithm))
    }

    @Test(arguments: examples)
    func aKeyIsForItsOwnAlgorithms(_ example: Example) throws {
        let key = try #require(example.key)
        for other in SignatureAlgorithm.allCases where other != example.algorithm {
            #expect(key.fits(other) == (example.algorithm == .rs256 && other == .ps256))
            #expect(!key.isSignature(Self.bytes(example.signature), of: Array(example.message.utf8), other))
        }
    }

    @Test func zerosAreNoSignatureOnP256() throws {
        let key = try #require(Self.examples[2].key)
        #expect(!key.isSignature([UInt8](repeating: 0, count: 64), of: [1], .es256))
    }

    @Test func weakAndWrongKeysAreNone() {
        let modulus = Self.bytes(Self.modulus)
        #expect(VerificationKey(rsaModulus: modulus, exponent: [3]) != nil)
        for exponent: [UInt8] in [[], [0], [1], [2], [1, 0, 0], [1, 0, 0, 0, 1]] {
            #expect(VerificationKey(rsaModulus: modulus, exponent: exponent) == nil)
        }
        // 1024 bits, and more than 8192.
        #expect(VerificationKey(rsaModulus: Array(modulus.prefix(128)), exponent: [1, 0, 1]) == nil)
        #expect(VerificationKey(rsaModulus: [UInt8](repeating: 0xff, count: 1100), exponent: [1, 0, 1]) == nil)
        #expect(VerificationKey(rsaModulus: [], exponent: [1, 0, 1]) == nil)
        // Points that are not on the curve.
        #expect(VerificationKey(p256X: [UInt8](repeating: 1, count: 32), y: [UInt8](repeating: 1, count: 32)) == nil)
        #expect(VerificationKey(p256X: [UInt8](repeating: 0, count: 32), y: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(VerificationKey(p256X: [], y: []) == nil)
        #expect(VerificationKey(ed25519: [1, 2, 3]) == nil)
        #expect(VerificationKey(secret: [UInt8](repeating: 7, count: 31)) == nil)
        #expect(VerificationKey(secret: [UInt8](repeating: 7, count: 32)) != nil)
        #expect(VerificationKey(subjectPublicKeyInfo: []) == nil)
        #expect(VerificationKey(subjectPublicKeyInfo: [0x30, 0x00]) == nil)
    }

    @Test func aKeyOfAFileIsReadWhole() throws {
        // Of the example on P-256: the sequence that says so, and the point.
        let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
            0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]
        let der =
            prefix + Self.bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
            + Self.bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
        let key = try #require(VerificationKey(subjectPublicKeyInfo: der))
        let example = Self.examples[2]
        #expect(key.isSignature(Self.bytes(example.signature), of: Array(example.message.utf8), .es256))
        #expect(VerificationKey(subjectPublicKeyInfo: der + [0]) == nil)
        #expect(VerificationKey(subjectPublicKeyInfo: Array(der.dropLast())) == nil)
    }

    @Test func theHashOfTheStandardIsMade() {
        // FIPS 180-4's example of "abc".
        #expect(
            Hexadecimal.text(SHA512.hash(of: Array("abc".utf8)))
                == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
                + "454d4423643ce80e2a9ac94fa54ca49f"
        )
    }
}
