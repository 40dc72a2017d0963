import CLibsodium

/// scrypt (RFC 7914), which derives keys from passwords at a cost in time and memory.
package enum Scrypt {
    /// libsodium refuses the parameters or has no memory.
    package struct Failure: Error {}

    /// Returns a secret key of `count` bytes: ``Swift/Array/cleanse()`` it when it is no longer needed.
    ///
    /// Uses 128·r·(2^logN + p) bytes of memory while it runs. Throws ``Failure``.
    package static func key(
        of password: [UInt8],
        salt: [UInt8],
        logN: Int,
        r: Int,
        p: Int,
        count: Int
    ) throws(Failure) -> [UInt8] {
        guard isReady, 1..<63 ~= logN, let r = UInt32(exactly: r), let p = UInt32(exactly: p) else { throw Failure() }
        var key = [UInt8](repeating: 0, count: count)
        let status = crypto_pwhash_scryptsalsa208sha256_ll(
            password,
            password.count,
            salt,
            salt.count,
            1 << UInt64(logN),
            r,
            p,
            &key,
            count
        )
        guard status == 0 else { throw Failure() }
        return key
    }

    /// libsodium selects its code for this processor on first use; any thread may call this.
    private static let isReady = sodium_init() >= 0
}
