import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct FileSignerTests {
    static let secret = "a secret of the files"
    static let cat = AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "cat.png")
    /// Of `cat` until 1549521900, as `FileSystemAssetSigner` of py-skygear 1.7 makes it.
    static let signature = "cYvjwp2lHnMIanR9esa1ph9JzdktEPVQYWcibF-J_S8="
    static let uploadSignature = "upPtpbmq7L3UzZbg-2HHtC7cgY49zaLnvIOp2wmEw0k="
    static let expiry: Int64 = 1_549_521_900

    static func signer(
        at now: Int64 = expiry - 900,
        prefix: String = "http://localhost:3000/files",
        lifetime: Duration = .seconds(900),
        of application: ApplicationName = .default
    ) -> FileSigner {
        let configuration = FileConfiguration(
            storage: MemoryFileStorage(),
            urlPrefix: prefix,
            urlLifetime: lifetime,
            application: application
        )
        return FileSigner(key: Array(secret.utf8), configuration) {
            Timestamp(microseconds: now * 1_000_000 - Timestamp.unixEpochOffset)
        }
    }

    @Test func anAddressIsThatOfSkygear() {
        #expect(
            Self.signer().address(of: Self.cat)
                == "http://localhost:3000/files/\(Self.cat)?expiredAt=\(Self.expiry)&signature=\(Self.signature)"
        )
    }

    /// Signatures that Python's `hmac` makes, of a long name and of short ones.
    @Test(
        arguments: [
            ("cat.png", expiry, signature),
            (
                String(repeating: "a", count: 100) + ".bbbbbbbbbbbbbbb", 9_999_999_999,
                "0K3WFJXC82V9QAbGofcHxH2diR5g3tS9MZVIibBns-I="
            ),
        ]
    ) func signaturesOfPySkygearAreAccepted(_ filename: String, _ end: Int64, _ signature: String) throws {
        let name = AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: filename)
        for text in [signature, String(signature.dropLast())] {
            let rest = try Self.signer(at: end - 7).verify(
                FileSignature(expiredAt: "\(end)", signature: text),
                of: name
            )
            #expect(rest == 7)
        }
    }

    @Test func ofOtherApplicationsTheAddressHasTheName() throws {
        let shop = try ApplicationName("shop")
        let signer = Self.signer(of: shop)
        #expect(signer.address(of: Self.cat).hasSuffix("&signature=\(Self.signature)&application=shop"))
        #expect(signer.uploadPath(of: Self.cat).hasSuffix("&signature=\(Self.uploadSignature)&application=shop"))
    }

    @Test func anUploadHasAnotherSignature() throws {
        let path = Self.signer().uploadPath(of: Self.cat)
        #expect(path == "/files/\(Self.cat)?expiredAt=\(Self.expiry)&signature=\(Self.uploadSignature)")
    }

    @Test(arguments: [#"http://a"b\c"#, "http://a\u{1}b", "http://ä b"])
    func anAddressNeedsNoEscapesInJSON(_ prefix: String) {
        let address = Self.signer(prefix: prefix).address(of: Self.cat)
        #expect(
            address.utf8.allSatisfy {
                (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
        )
    }

    /// Valid for the lifetime at least, and half as long again at most, so that it stays the same for that time.
    @Test(
        arguments: [
            (900, 0, 900), (900, 1, 1350), (900, 450, 1350), (900, 451, 1800), (900, 899, 1800), (1, 5, 6), (2, 5, 7),
            (3, 5, 8),
        ] as [(Int64, Int64, Int64)]
    ) func theExpiryIsRoundedUp(_ lifetime: Int64, _ now: Int64, _ expiry: Int64) {
        let signer = Self.signer(lifetime: .seconds(lifetime))
        #expect(signer.expiry(at: now) == expiry)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var expiredAt = "\(FileSignerTests.expiry)"
        var signature = FileSignerTests.signature
        var name = FileSignerTests.cat
        var purpose = FileSignature.Purpose.download
        var now = FileSignerTests.expiry - 900
        let code: ErrorCode?

        var testDescription: String { "\(expiredAt) \(signature) \(purpose) \(code?.name ?? "OK")" }
    }

    static let rows = [
        Row(code: nil),
        Row(signature: uploadSignature, purpose: .upload, code: nil),
        Row(now: expiry - 1, code: nil),
        // Each purpose has its own signature.
        Row(signature: uploadSignature, code: .invalidSignature),
        Row(purpose: .upload, code: .invalidSignature),
        Row(name: AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "cat.pn"), code: .invalidSignature),
        Row(expiredAt: "\(expiry + 1)", code: .invalidSignature),
        Row(expiredAt: "0\(expiry)", code: .invalidSignature),
        Row(signature: "", code: .invalidSignature),
        Row(signature: "=", code: .invalidSignature),
        Row(signature: "no base64", code: .invalidSignature),
        Row(signature: signature + "=", code: .invalidSignature),
        Row(signature: signature.replacing("-", with: "+").replacing("_", with: "/"), code: .invalidSignature),
        Row(signature: "A" + signature.dropFirst(), code: .invalidSignature),
        Row(now: expiry, code: .permissionDenied),
        Row(signature: "wrong", now: expiry + 1, code: .permissionDenied),
        Row(expiredAt: "0", code: .permissionDenied),
        Row(expiredAt: "", code: .invalidArgument),
        Row(expiredAt: "-1", code: .invalidArgument),
        Row(expiredAt: "+\(expiry)", code: .invalidArgument),
        Row(expiredAt: " \(expiry)", code: .invalidArgument),
        Row(expiredAt: "\(expiry).0", code: .invalidArgument),
        Row(expiredAt: "99999999999999999999", code: .invalidArgument),
        Row(expiredAt: "١", code: .invalidArgument),
    ]

    @Test(arguments: rows) func signaturesAreVerified(_ row: Row) {
        let signature = FileSignature(expiredAt: row.expiredAt, signature: row.signature)
        var code: ErrorCode?
        do throws(SkyrowError) {
            try Self.signer(at: row.now).verify(signature, of: row.name, for: row.purpose)
        } catch {
            code = error.code
        }
        #expect(code == row.code)
    }

    @Test func whatIsSignedIsAccepted() throws {
        var generator = SeededGenerator.forTest()
        for _ in 0..<1000 {
            let now = Int64.random(in: 1..<4_000_000_000, using: &generator)
            let length = Int.random(in: 1...110, using: &generator)
            let filename = String((0..<length).map { _ in "abc._-XYZ019".randomElement(using: &generator) ?? "a" })
            let name = AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: filename)
            let signer = Self.signer(at: now)
            try signer.verify(try FileSignature(of: signer.address(of: name)), of: name)
            try signer.verify(try FileSignature(of: signer.uploadPath(of: name)), of: name, for: .upload)
        }
    }
}
