import SkyrowCrypto
import SkyrowRemote

/// Time-based codes (RFC 6238): six digits of HMAC-SHA-1, which change every 30 seconds.
struct TOTP: Sendable {
    /// In bytes, as long as the hash.
    static let secretBytes = 20

    let secret: [UInt8]

    /// Returns the code of a 30-second step since 1970.
    func code(at step: Int64) -> String {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * Int64($0))) }
        let hash = HMACSHA1.code(of: message, key: secret)
        // RFC 4226, section 5.3: the last four bits are the offset of the number.
        let offset = Int(hash[19] & 15)
        let number = hash[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Returns the step of a code: the current, previous or next one. All are compared, in constant time.
    func step(of code: String, around step: Int64) -> Int64? {
        let given = Array(code.utf8)
        let steps = [step - 1, step, step + 1]
        let matches = steps.map { Array(self.code(at: $0).utf8).isEqualInConstantTime(to: given) }
        return zip(steps, matches).first { $0.1 }?.0
    }

    /// Returns the URI that an authenticator application reads as a QR code.
    ///
    /// - Parameter account: the label of the account in the application.
    func uri(issuer: String, account: String) -> String {
        let (issuer, account) = (WebForm.encoded(issuer), WebForm.encoded(account))
        return "otpauth://totp/\(issuer):\(account)?secret=\(Base32.encode(secret))&issuer=\(issuer)"
            + "&algorithm=SHA1&digits=6&period=30"
    }
}

/// Base32 (RFC 4648, section 6) without padding, the form in which authenticator applications accept secrets.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    static func encode(_ bytes: [UInt8]) -> String {
        var text = ""
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xFFFF
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> UInt32(count)) & 31])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(5 - count)) & 31]) }
        return text
    }

    /// Returns the bytes of a text from ``encode(_:)``; nil for a letter outside the alphabet.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count): (UInt32, Int) = (0, 0)
        for letter in text {
            guard let value = alphabet.firstIndex(of: letter) else { return nil }
            bits = (bits << 5 | UInt32(value)) & 0xFFFF
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }
}

/// A one-time code for users who have lost their authenticator: ten letters and digits, 50 random bits.
struct RecoveryCode: Hashable, Sendable {
    /// The number of codes of an account.
    static let count = 10

    /// Without the ambiguous letters i, l, o and u.
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    /// The form whose hash is stored.
    let text: String

    /// Generates a code from the operating system's random numbers.
    init() {
        var generator = SystemRandomNumberGenerator()
        let letters = (0..<10).map { _ in Self.alphabet[Int.random(in: Self.alphabet.indices, using: &generator)] }
        text = String(decoding: letters, as: UTF8.self)
    }

    /// A code as typed: with spaces, hyphens and capital letters, o for 0 and i or l for 1; nil for an invalid text.
    init?(_ typed: String) {
        guard typed.utf8.count <= 64 else { return nil }
        var letters: [UInt8] = []
        for byte in typed.lowercased().utf8 where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "-") {
            switch byte {
            case UInt8(ascii: "o"): letters.append(UInt8(ascii: "0"))
            case UInt8(ascii: "i"), UInt8(ascii: "l"): letters.append(UInt8(ascii: "1"))
            default: letters.append(byte)
            }
        }
        guard letters.count == 10, letters.allSatisfy({ Self.alphabet.contains($0) }) else { return nil }
        text = String(decoding: letters, as: UTF8.self)
    }

    /// The code as displayed, in two halves.
    var shown: String { "\(text.prefix(5))-\(text.suffix(5))" }
}
