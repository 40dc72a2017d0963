internal import SkyrowCrypto
internal import SkyrowJSON

/// The keys that authenticate an application's cursors; one signs new cursors, and all are accepted.
///
/// A cursor is the base64url of version (1 byte), key number (1), digest of its query (8), values of the sort keys, and the
/// first 16 bytes of the HMAC-SHA-256 of all preceding bytes (Documentation/Decisions/paging-and-aggregates.md).
package struct CursorKeys: Sendable {
    private static let version: UInt8 = 1
    private static let codeBytes = 16
    /// Upper bound on a cursor's length.
    static let maximumBytes = 12_288

    private let keys: [UInt8: HMACSHA256]
    private let current: UInt8

    /// - Parameter secrets: the application's secrets by number; the highest number signs new cursors. nil without secrets.
    package init?(secrets: [UInt8: [UInt8]]) {
        guard let current = secrets.keys.max() else { return nil }
        self.current = current
        keys = secrets.mapValues { secret in
            // A derived key, so that the secret can serve other purposes too.
            HMACSHA256(key: HMACSHA256(key: secret).code(of: Array("cursor".utf8)).bytes)
        }
    }

    /// Returns the cursor of a position in the order of a query; nil if it would be too long.
    func seal(_ digest: QueryDigest, _ values: [UInt8]) -> String? {
        guard let key = keys[current] else { return nil }
        var bytes: [UInt8] = [Self.version, current]
        bytes.reserveCapacity(10 + values.count + Self.codeBytes)
        bytes += digest.bytes
        bytes += values
        bytes += key.code(of: bytes).bytes.prefix(Self.codeBytes)
        let text = Base64URL.encode(bytes)
        return text.utf8.count <= Self.maximumBytes ? text : nil
    }

    /// Returns the digest and the values of an authentic cursor; nil for any other text.
    func open(_ text: String) -> (digest: QueryDigest, values: ArraySlice<UInt8>)? {
        guard text.utf8.count <= Self.maximumBytes, let bytes = Base64URL.decode(text),
            bytes.count >= 2 + QueryDigest.byteCount + Self.codeBytes, bytes[0] == Self.version,
            let key = keys[bytes[1]]
        else { return nil }
        let signed = Array(bytes.dropLast(Self.codeBytes))
        let code = Array(key.code(of: signed).bytes.prefix(Self.codeBytes))
        guard code.isEqualInConstantTime(to: Array(bytes.suffix(Self.codeBytes))) else { return nil }
        return (QueryDigest(bytes: Array(signed[2..<10])), signed[10...])
    }
}
