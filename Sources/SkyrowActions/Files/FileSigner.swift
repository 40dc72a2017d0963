import SkyrowCrypto
import SkyrowJSON
import SkyrowModel

/// Makes the addresses of an application's files, and verifies their signatures.
///
/// ```swift
/// let signer = FileSigner(key: key, configuration)
/// signer.address(of: name)   // https://example.com/files/7b0e…-cat.png?expiredAt=1549522000&signature=…
/// ```
///
/// The signature of an address is that of Skygear: base64url of the HMAC-SHA-256 of the name and `expiredAt`, so that plugins with
/// py-skygear sign the same way. Names begin with a UUID, so no other name and time have the same concatenation.
///
/// An address is written within a microsecond and without a lock. The time of its expiry is rounded up, so that a file has the same
/// address for minutes, and a browser uses its copy of it.
final class FileSigner: AssetLinks {
    private let key: HMACSHA256
    /// `https://example.com/files/`
    private let prefix: [UInt8]
    /// `&application=shop`; empty for the default application.
    private let suffix: [UInt8]
    /// How long an address is valid at least, in seconds.
    private let lifetime: Int64
    private let now: @Sendable () -> Timestamp

    private static let expiry = Array("?expiredAt=".utf8)
    private static let signature = Array("&signature=".utf8)
    /// The digits of an Int64.
    private static let maximumDigits = 20
    /// The letters of 32 bytes in base64, with one for padding.
    private static let codeLetters = 44

    init(key: [UInt8], _ configuration: FileConfiguration, now: @escaping @Sendable () -> Timestamp) {
        self.key = HMACSHA256(key: key)
        // JSON then needs no escapes.
        prefix = (configuration.urlPrefix + "/").utf8.flatMap { byte -> [UInt8] in
            let isPlain = (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            return isPlain ? [byte] : Array("%\(Hexadecimal.text([byte]))".utf8)
        }
        let application = configuration.application
        suffix = application == .default ? [] : Array("&application=\(application)".utf8)
        lifetime = max(1, configuration.urlLifetime.components.seconds)
        self.now = now
    }

    // MARK: Addresses

    func withAddress(of name: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        let room =
            prefix.count + name.count + Self.expiry.count + Self.maximumDigits + Self.signature.count
            + Self.codeLetters + suffix.count
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { memory in
            var text = Text(memory: memory)
            prefix.withUnsafeBytes { text.append($0) }
            text.append(name)
            Self.expiry.withUnsafeBytes { text.append($0) }
            let digits = text.count
            text.append(expiry(at: seconds))
            let code = key.code(of: name, UnsafeRawBufferPointer(rebasing: memory[digits..<text.count]))
            Self.signature.withUnsafeBytes { text.append($0) }
            text.append(code)
            suffix.withUnsafeBytes { text.append($0) }
            body(UnsafeRawBufferPointer(rebasing: memory[..<text.count]))
        }
    }

    /// Returns the address at which a file is downloaded for some minutes.
    func address(of name: AssetName) -> String {
        var address = ""
        name.rawValue.withBytes { bytes in
            withAddress(of: bytes) { address = String(decoding: $0, as: UTF8.self) }
        }
        return address
    }

    /// Returns the path and query to which a file is uploaded, within the time of an address.
    func uploadPath(of name: AssetName) -> String {
        let end = "\(expiry(at: seconds))"
        let code = Base64URL.encode(code(of: name, expiredAt: end, for: .upload).bytes)
        return "/files/\(name)?expiredAt=\(end)&signature=\(code)=" + String(decoding: suffix, as: UTF8.self)
    }

    /// The expiry of an address that is made at a time, both in seconds since 1970: a multiple of half the lifetime.
    func expiry(at now: Int64) -> Int64 {
        let step = max(1, lifetime / 2)
        return (now + lifetime + step - 1) / step * step
    }

    private var seconds: Int64 { (now().microseconds + Timestamp.unixEpochOffset) / 1_000_000 }

    // MARK: Verification

    /// Returns for how many seconds the address is still valid.
    ///
    /// Throws `108 InvalidArgument` for an unreadable time, `102 PermissionDenied` for an expired address, and `106
    /// InvalidSignature`.
    @discardableResult
    func verify(
        _ signature: FileSignature,
        of name: AssetName,
        for purpose: FileSignature.Purpose = .download
    ) throws(SkyrowError) -> Int64 {
        guard let expiry = signature.expiry else {
            throw .invalidArgument("\"expiredAt\" must be a number of seconds since 1970.", "expiredAt")
        }
        let now = seconds
        guard expiry > now else { throw .addressExpired }
        // With or without padding.
        let text = signature.signature.last == "=" ? String(signature.signature.dropLast()) : signature.signature
        let code = code(of: name, expiredAt: signature.expiredAt, for: purpose).bytes
        guard let given = Base64URL.decode(text), code.isEqualInConstantTime(to: given) else {
            throw .wrongSignature
        }
        return expiry - now
    }

    private func code(of name: AssetName, expiredAt: String, for purpose: FileSignature.Purpose) -> SHA256Digest {
        switch purpose {
        case .download:
            name.rawValue.withBytes { name in
                expiredAt.withBytes { key.code(of: UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
            }
        // No name begins like this.
        case .upload: key.code(of: Array("upload\n\(name)\n\(expiredAt)".utf8))
        }
    }
}

extension FileSigner {
    /// The text of an address, in memory that has room for it.
    private struct Text {
        let memory: UnsafeMutableRawBufferPointer
        private(set) var count = 0

        init(memory: UnsafeMutableRawBufferPointer) {
            self.memory = memory
        }

        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
            count += bytes.count
        }

        /// Appends the digits of a number that is not negative.
        mutating func append(_ number: Int64) {
            var length = 1
            var rest = number
            while rest >= 10 {
                rest /= 10
                length += 1
            }
            rest = number
            for place in stride(from: count + length - 1, through: count, by: -1) {
                memory[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            count += length
        }

        /// Appends a code in base64url with padding.
        mutating func append(_ code: SHA256Digest) {
            withUnsafeBytes(of: code.words) { bytes in
                // The last group has two bytes.
                for first in stride(from: 0, to: bytes.count, by: 3) {
                    let third = first + 2 < bytes.count ? bytes[first + 2] : 0
                    let group = UInt32(bytes[first]) << 16 | UInt32(bytes[first + 1]) << 8 | UInt32(third)
                    for shift: UInt32 in [18, 12, 6, 0] {
                        memory[count] = Self.letter(UInt8(truncatingIfNeeded: group >> shift & 63))
                        count += 1
                    }
                }
            }
            memory[count - 1] = UInt8(ascii: "=")
        }

        private static func letter(_ value: UInt8) -> UInt8 {
            switch value {
            case ..<26: UInt8(ascii: "A") + value
            case ..<52: UInt8(ascii: "a") + value - 26
            case ..<62: UInt8(ascii: "0") + value - 52
            case 62: UInt8(ascii: "-")
            default: UInt8(ascii: "_")
            }
        }
    }
}

extension SkyrowError {
    static let addressExpired = SkyrowError(
        .permissionDenied,
        "The address of the file has expired; get a new one with the record."
    )
    static let wrongSignature = SkyrowError(.invalidSignature, "The signature in the address of the file is wrong.")
}
