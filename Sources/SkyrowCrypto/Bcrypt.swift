import CLibcrypto

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Compares passwords with bcrypt hashes of other systems (`$2a$`, `$2b$`, `$2y$`), with the system's libcrypt.
///
/// The library is loaded when the first such hash is compared, since a service without imported accounts does not need it.
package enum Bcrypt {
    /// The system has no libcrypt, or one without bcrypt.
    package struct Failure: Error {}

    /// Higher costs take longer than a second.
    private static let costs = 4...14
    /// The size of `struct crypt_data` of libxcrypt.
    private static let workspaceByteCount = 32_768
    private static let significantByteCount = 72

    /// Whether a text is a bcrypt hash of a supported cost: `$2b$10$` and 53 characters.
    package static func isHash(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, text.hasPrefix("$2"), "aby".utf8.contains(bytes[2]), bytes[3] == UInt8(ascii: "$"),
            bytes[6] == UInt8(ascii: "$"), let cost = Int(String(decoding: bytes[4..<6], as: UTF8.self))
        else { return false }
        return costs.contains(cost)
            && bytes[7...].allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: false
                }
            }
    }

    /// Whether a password belongs to a hash. bcrypt uses its first 72 bytes only.
    ///
    /// Takes 50 ms at cost 10, and twice as long for each higher cost. Throws ``Failure``.
    package static func matches(_ password: [UInt8], hash: String) throws(Failure) -> Bool {
        // A C string, and so the password, would end at the NUL.
        guard isHash(hash), !password.contains(0) else { return false }
        guard let crypt = loaded else { throw Failure() }
        let workspace = UnsafeMutableRawPointer.allocate(byteCount: workspaceByteCount, alignment: 16)
        workspace.initializeMemory(as: UInt8.self, repeating: 0, count: workspaceByteCount)
        defer {
            OPENSSL_cleanse(workspace, workspaceByteCount)
            workspace.deallocate()
        }
        // libcrypt refuses passwords of more than 511 bytes.
        var phrase = password.prefix(significantByteCount).map { CChar(bitPattern: $0) } + [0]
        defer { phrase.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard let output = crypt(phrase, hash, workspace, CInt(workspaceByteCount)) else { throw Failure() }
        return Array(String(cString: output).utf8).isEqualInConstantTime(to: Array(hash.utf8))
    }

    private typealias Function =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer, CInt) ->
        UnsafeMutablePointer<CChar>?

    private static let loaded: Function? = {
        guard let library = dlopen("libcrypt.so.1", RTLD_NOW | RTLD_LOCAL), let symbol = dlsym(library, "crypt_rn")
        else { return nil }
        return unsafeBitCast(symbol, to: Function.self)
    }()
}
