import SkyrowCrypto
import SkyrowJSON

/// Signs calls as Standard Webhooks does, so that a server can verify that they come from this service.
///
/// ```swift
/// WebhookSigner(secret: secret).fields(id: "msg_1", timestamp: 1_614_265_330, body: body)
/// ```
package struct WebhookSigner: Sendable {
    private let key: HMACSHA256

    package init(secret: [UInt8]) {
        key = HMACSHA256(key: secret)
    }

    /// Returns the secret of a function server, which follows from the master key: HMAC-SHA-256 of `function-server/<name>`.
    package static func secret(ofServer name: String, masterKey: String) -> [UInt8] {
        HMACSHA256(key: Array(masterKey.utf8)).code(of: Array("function-server/\(name)".utf8)).bytes
    }

    /// Returns the header fields of a call.
    ///
    /// - Parameter timestamp: Seconds since 1970.
    package func fields(id: String, timestamp: Int64, body: [UInt8]) -> [String] {
        let code = Array("\(id).\(timestamp).".utf8).withUnsafeBytes { head in
            body.withUnsafeBytes { key.code(of: head, $0) }
        }
        return [
            "webhook-id: \(id)", "webhook-timestamp: \(timestamp)", "webhook-signature: v1,\(encodeBase64(code.bytes))",
        ]
    }
}
