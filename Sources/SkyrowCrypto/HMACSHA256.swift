import CLibsodium

/// HMAC-SHA-256 (RFC 2104) with one key.
///
/// ```swift
/// let code = HMACSHA256(key: secret).code(of: message)
/// ```
package struct HMACSHA256: Sendable {
    /// The state after the key, from which every code is computed.
    private let keyed: crypto_auth_hmacsha256_state

    package init(key: [UInt8]) {
        var state = crypto_auth_hmacsha256_state()
        crypto_auth_hmacsha256_init(&state, key, key.count)
        keyed = state
    }

    /// Returns the authentication code of a message, which must be compared in constant time.
    package func code(of message: [UInt8]) -> SHA256Digest {
        var state = keyed
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        return SHA256Digest { crypto_auth_hmacsha256_final(&state, $0) }
    }

    /// Returns the authentication code of a message in two parts, without a copy of them.
    package func code(of first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> SHA256Digest {
        var state = keyed
        update(&state, first)
        update(&state, second)
        return SHA256Digest { crypto_auth_hmacsha256_final(&state, $0) }
    }

    private func update(_ state: inout crypto_auth_hmacsha256_state, _ part: UnsafeRawBufferPointer) {
        guard let bytes = part.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        crypto_auth_hmacsha256_update(&state, bytes, UInt64(part.count))
    }
}
