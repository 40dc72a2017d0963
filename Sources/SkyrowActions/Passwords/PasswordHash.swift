import SkyrowCrypto
import SkyrowJSON
import SkyrowModel

/// A stored password: scrypt's cost, salt and output in one text, `$scrypt$ln=15,r=8,p=3,n=1$<salt>$<output>`.
///
/// The format is PHC's, with base64 without padding. It includes the cost, so that old hashes still verify after the configured
/// cost has grown. `n=1` means that the password was hashed in its composed form (``Swift/String/composedUTF8``); older hashes
/// are of the bytes as sent.
struct PasswordHash: Equatable {
    static let saltByteCount = 16
    static let outputByteCount = 32

    let cost: ScryptCost
    let salt: [UInt8]
    let output: [UInt8]
    let isComposed: Bool

    /// Hashes a password with a new salt. The cost determines the duration, so it must not run on a thread that others need.
    ///
    /// - Parameter password: in its composed form.
    init(password: [UInt8], cost: ScryptCost, using generator: inout some RandomNumberGenerator) throws {
        let salt = (0..<PasswordHash.saltByteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let output = try PasswordHash.derive(password, salt: salt, cost: cost)
        self.init(cost: cost, salt: salt, output: output, isComposed: true)
    }

    init(cost: ScryptCost, salt: [UInt8], output: [UInt8], isComposed: Bool) {
        self.cost = cost
        self.salt = salt
        self.output = output
        self.isComposed = isComposed
    }

    /// Parses the stored text; nil for another format, or a cost that no hash of the service has.
    init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt",
            let cost = ScryptCost(parameters: parts[2].withoutSuffix(PasswordHash.composedMark)),
            let salt = unpaddedBase64(parts[3]), salt.count >= 8,
            let output = unpaddedBase64(parts[4]), output.count == PasswordHash.outputByteCount
        else { return nil }
        let isComposed = parts[2].hasSuffix(PasswordHash.composedMark)
        self.init(cost: cost, salt: salt, output: output, isComposed: isComposed)
    }

    private static let composedMark = ",n=1"

    /// The text to store.
    var text: String {
        let parameters = cost.parameters + (isComposed ? PasswordHash.composedMark : "")
        return "$scrypt$\(parameters)$\(unpaddedBase64(salt))$\(unpaddedBase64(output))"
    }

    /// Returns whether this is the password's hash; hashes once and compares in constant time.
    func matches(_ password: String) throws -> Bool {
        var bytes = isComposed ? password.composedUTF8 : Array(password.utf8)
        defer { bytes.cleanse() }
        var candidate = try PasswordHash.derive(bytes, salt: salt, cost: cost)
        defer { candidate.cleanse() }
        return candidate.isEqualInConstantTime(to: output)
    }

    private static func derive(_ password: [UInt8], salt: [UInt8], cost: ScryptCost) throws -> [UInt8] {
        try Scrypt.key(of: password, salt: salt, logN: cost.logN, r: cost.r, p: cost.p, count: outputByteCount)
    }
}

extension ScryptCost {
    /// The parameters in PHC's format: `ln=15,r=8,p=3`.
    var parameters: String { "ln=\(logN),r=\(r),p=\(p)" }

    /// Parses `parameters`; nil for another format, or for a cost above 1 GiB of memory or a parallelism above 64.
    init?(parameters: Substring) {
        let parts = parameters.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3,
            parts[0].hasPrefix("ln="), let logN = Int(parts[0].dropFirst(3)), (1...23).contains(logN),
            parts[1].hasPrefix("r="), let r = Int(parts[1].dropFirst(2)), (1...64).contains(r),
            parts[2].hasPrefix("p="), let p = Int(parts[2].dropFirst(2)), (1...64).contains(p),
            128 * r << logN <= 1 << 30
        else { return nil }
        self.init(logN: logN, r: r, p: p)
    }

    /// Returns whether hashing at `self` is cheaper than at `other` in time or memory.
    func isWeaker(than other: ScryptCost) -> Bool {
        (r << logN) < (other.r << other.logN) || (r * p << logN) < (other.r * other.p << other.logN)
    }
}

extension Substring {
    fileprivate func withoutSuffix(_ suffix: String) -> Substring {
        hasSuffix(suffix) ? dropLast(suffix.count) : self
    }
}

private func unpaddedBase64(_ text: Substring) -> [UInt8]? {
    decodeBase64(Array(text.utf8) + [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.utf8.count % 4) % 4))
}

private func unpaddedBase64(_ bytes: [UInt8]) -> String {
    String(encodeBase64(bytes).prefix { $0 != "=" })
}
