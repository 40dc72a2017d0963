import SkyrowCrypto
import SkyrowJSON
package import SkyrowModel

/// Signatures of requests to Amazon's services, and to others with the same interface, in version 4.
///
/// ```swift
/// let signer = SigV4(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: secret, region: "eu-central-1")
/// signer.authorization(of: request, payload: SigV4.unsigned, at: SigningTime(now))
/// // AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261128/eu-central-1/s3/aws4_request, SignedHeaders=host;…
/// ```
package struct SigV4: Sendable {
    /// A request, as far as its signature covers it.
    package struct Request: Sendable {
        package var method: String
        /// The path as it is sent.
        package var path: String
        /// The fields of the query, not encoded.
        package var query: [(name: String, value: String)]
        /// The header fields that are signed, with `host`.
        package var fields: [(name: String, value: String)]

        package init(
            method: String,
            path: String,
            query: [(name: String, value: String)] = [],
            fields: [(name: String, value: String)]
        ) {
            self.method = method
            self.path = path
            self.query = query
            self.fields = fields
        }

        /// The query as it is signed, and so as it is sent.
        package var canonicalQuery: String {
            let fields = query.map { (name: WebForm.encoded($0.name), value: WebForm.encoded($0.value)) }
            return fields.sorted { ($0.name, $0.value) < ($1.name, $1.value) }.map { "\($0.name)=\($0.value)" }
                .joined(separator: "&")
        }

        fileprivate var canonicalFields: [(name: String, value: String)] {
            fields.map { field in
                (field.name.lowercased(), field.value.split { $0 == " " || $0 == "\t" }.joined(separator: " "))
            }.sorted { $0.name < $1.name }
        }
    }

    /// What a form must contain so that its policy accepts it.
    package enum PostCondition: Hashable, Sendable {
        case field(String, equals: String)
        /// The bytes of the file.
        case length(ClosedRange<Int64>)
    }

    /// In the place of the hash of a body that is not signed.
    package static let unsigned = "UNSIGNED-PAYLOAD"
    private static let algorithm = "AWS4-HMAC-SHA256"

    private let accessKey: String
    private let secretKey: String
    private let region: String

    package init(accessKey: String, secretKey: String, region: String) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.region = region
    }

    /// Returns the value of the field `Authorization`.
    ///
    /// - Parameter payload: the hash of the body as hexadecimal digits, or ``unsigned``; also the field `x-amz-content-sha256`.
    package func authorization(of request: Request, payload: String, at time: SigningTime) -> String {
        let names = request.canonicalFields.map(\.name).joined(separator: ";")
        return """
            \(Self.algorithm) Credential=\(credential(at: time)), SignedHeaders=\(names), \
            Signature=\(signature(of: request, payload, at: time))
            """
    }

    /// Returns a query with which a request needs no signed field but `host`.
    package func query(of request: Request, seconds: Int, at time: SigningTime) -> String {
        var request = request
        request.query += [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", credential(at: time)),
            ("X-Amz-Date", time.stamp), ("X-Amz-Expires", "\(seconds)"),
            ("X-Amz-SignedHeaders", request.canonicalFields.map(\.name).joined(separator: ";")),
        ]
        return "\(request.canonicalQuery)&X-Amz-Signature=\(signature(of: request, Self.unsigned, at: time))"
    }

    /// Returns the fields of a form that authorize its upload, beside those of its conditions.
    package func fields(
        ofPolicy conditions: [PostCondition],
        until end: SigningTime,
        at time: SigningTime
    ) -> [(name: String, value: String)] {
        let fields: [(name: String, value: String)] = [
            ("x-amz-algorithm", Self.algorithm), ("x-amz-credential", credential(at: time)),
            ("x-amz-date", time.stamp),
        ]
        let all = conditions.map(\.json) + fields.map { PostCondition.field($0.name, equals: $0.value).json }
        let policy = #"{"expiration": "\#(end.instant)", "conditions": [\#(all.joined(separator: ", "))]}"#
        let text = encodeBase64(Array(policy.utf8))
        return fields + [("policy", text), ("x-amz-signature", signature(of: text, at: time))]
    }

    // MARK: The steps

    private func signature(of request: Request, _ payload: String, at time: SigningTime) -> String {
        let fields = request.canonicalFields
        let canonical = """
            \(request.method)
            \(request.path)
            \(request.canonicalQuery)
            \(fields.map { "\($0.name):\($0.value)\n" }.joined())
            \(fields.map(\.name).joined(separator: ";"))
            \(payload)
            """
        let text = """
            \(Self.algorithm)
            \(time.stamp)
            \(scope(at: time))
            \(Hexadecimal.text(SHA256.hash(of: canonical).bytes))
            """
        return signature(of: text, at: time)
    }

    private func signature(of text: String, at time: SigningTime) -> String {
        var key = Array("AWS4\(secretKey)".utf8)
        for part in [time.date, region, "s3", "aws4_request", text] {
            key = HMACSHA256(key: key).code(of: Array(part.utf8)).bytes
        }
        return Hexadecimal.text(key)
    }

    private func scope(at time: SigningTime) -> String { "\(time.date)/\(region)/s3/aws4_request" }

    private func credential(at time: SigningTime) -> String { "\(accessKey)/\(scope(at: time))" }
}

extension SigV4.PostCondition {
    /// The condition in a policy, with the spaces of Python's `json`, whose output the tests compare.
    fileprivate var json: String {
        switch self {
        case .field(let name, let value): "{\(Self.quoted(name)): \(Self.quoted(value))}"
        case .length(let range): #"["content-length-range", \#(range.lowerBound), \#(range.upperBound)]"#
        }
    }

    /// A text of visible ASCII as a JSON string.
    private static func quoted(_ text: String) -> String {
        "\"\(text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined())\""
    }
}

/// The time of a signature, in whole seconds.
package struct SigningTime: Hashable, Sendable {
    /// `2026-11-28T06:30:00Z`
    package let instant: String

    package init(_ time: Timestamp) {
        instant = "\(time.rfc3339.prefix(19))Z"
    }

    /// `20261128T063000Z`
    package var stamp: String { instant.filter { $0 != "-" && $0 != ":" } }

    /// `20261128`
    var date: String { String(stamp.prefix(8)) }
}
