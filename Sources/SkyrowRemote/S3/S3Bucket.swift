package import SkyrowModel

/// A bucket of an S3-compatible store, with the credentials for it.
///
/// ```swift
/// S3Bucket("files", at: "https://s3.eu-central-1.amazonaws.com", region: "eu-central-1", accessKey: "AKIA…", secretKey: secret)
/// ```
package struct S3Bucket: Sendable {
    package let name: String
    package let region: String
    let signer: SigV4
    /// Whether bodies are encrypted on their way, and so need no signed hash.
    let isEncrypted: Bool
    /// The host, with its port unless that is the scheme's, as the field `Host` has it.
    let host: String
    /// The path of the bucket: `/`, or `/files`.
    private let root: String

    /// nil if the endpoint is not `https://host` or `http://host`, with an optional port, or the name is not that of a bucket.
    ///
    /// - Parameter usesPathStyle: Whether the bucket is in the path of addresses, and not a part of the host.
    package init?(
        _ name: String,
        at endpoint: String,
        region: String,
        accessKey: String,
        secretKey: String,
        usesPathStyle: Bool = false
    ) {
        guard let endpoint = S3Endpoint(endpoint), S3Bucket.isName(name) else { return nil }
        self.name = name
        self.region = region
        signer = SigV4(accessKey: accessKey, secretKey: secretKey, region: region)
        isEncrypted = endpoint.isEncrypted
        host = usesPathStyle ? endpoint.host : "\(name).\(endpoint.host)"
        root = usesPathStyle ? "/\(name)" : "/"
    }

    /// Whether a text can be the name of a bucket: 3 to 63 lowercase letters, digits, dots and hyphens.
    package static func isName(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || ".-".utf8.contains(byte)
        }
        return isPlain && (3...63).contains(text.utf8.count) && !text.hasPrefix(".") && !text.hasSuffix(".")
            && !text.contains("..")
    }

    /// The path of an object; nil for the bucket.
    func path(of key: String?) -> String {
        guard let key else { return root }
        let parts = key.split(separator: "/", omittingEmptySubsequences: false).map { WebForm.encoded(String($0)) }
        return (root == "/" ? "" : root) + "/" + parts.joined(separator: "/")
    }

    func address(_ path: String, query: String = "") -> String {
        "\(isEncrypted ? "https" : "http")://\(host)\(path)\(query.isEmpty ? "" : "?\(query)")"
    }

    // MARK: Addresses for clients

    /// Returns an address at which a client gets an object without credentials.
    ///
    /// - Parameters:
    ///   - contentType: The field `Content-Type` of the response.
    ///   - disposition: The field `Content-Disposition` of the response.
    ///   - seconds: How long the address is valid.
    package func address(
        of key: String,
        contentType: String,
        disposition: String,
        seconds: Int,
        at now: Timestamp
    ) -> String {
        let request = SigV4.Request(
            method: "GET",
            path: path(of: key),
            query: [("response-content-disposition", disposition), ("response-content-type", contentType)],
            fields: [("host", host)]
        )
        return address(request.path, query: signer.query(of: request, seconds: seconds, at: SigningTime(now)))
    }

    /// Returns the form by which a client without credentials uploads an object of exactly this key, type and size.
    ///
    /// - Parameter seconds: How long the form is valid.
    package func form(
        for key: String,
        contentType: String,
        size: Int64,
        seconds: Int,
        at now: Timestamp
    ) -> (address: String, fields: [(name: String, value: String)]) {
        let fields: [(name: String, value: String)] = [
            ("key", key), ("Content-Type", contentType), ("success_action_status", "201"),
        ]
        let conditions: [SigV4.PostCondition] =
            [.field("bucket", equals: name), .length(size...size)] + fields.map { .field($0.name, equals: $0.value) }
        let signed = signer.fields(
            ofPolicy: conditions,
            until: SigningTime(Timestamp(microseconds: now.microseconds + Int64(seconds) * 1_000_000)),
            at: SigningTime(now)
        )
        return (address(root), fields + signed)
    }
}

/// The address of an S3-compatible store: `https://s3.example.org`, or `http://minio.internal:9000`.
package struct S3Endpoint: Hashable, Sendable {
    let isEncrypted: Bool
    /// With its port, unless that is the scheme's.
    let host: String

    /// nil if the text has another scheme, a path, a query or a user.
    package init?(_ text: String) {
        isEncrypted = text.hasPrefix("https://")
        guard isEncrypted || text.hasPrefix("http://"), text.utf8.count <= 500 else { return nil }
        var authority = text.dropFirst(isEncrypted ? "https://".count : "http://".count)
        if authority.last == "/" { authority.removeLast() }
        guard WebAddress.host(of: authority) != nil else { return nil }
        let port = isEncrypted ? ":443" : ":80"
        host = (authority.hasSuffix(port) ? authority.dropLast(port.count) : authority).lowercased()
    }
}
