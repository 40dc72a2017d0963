import SkyrowJSON
import SkyrowModel

/// Why a store did not do what a request asked for.
package struct S3Failure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable {
        /// What the request names does not exist.
        case missing
        /// The store has no room.
        case full
        /// It would be refused again.
        case refused
        /// The store does not respond, or is overloaded; a later attempt may succeed.
        case unavailable
        /// The task that waited was cancelled.
        case cancelled
    }

    package let kind: Kind
    /// The code of the store, such as `NoSuchBucket`; empty if it sent none.
    package let code: String
    /// A sentence for the operator, without secrets.
    package let description: String

    package init(_ kind: Kind, _ code: String = "", _ description: String) {
        self.kind = kind
        self.code = code
        self.description = description
    }
}

extension S3Failure {
    private static let unavailable: Set = [
        "InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable", "SlowDown",
    ]
    private static let full: Set = ["QuotaExceeded", "XMinioStorageFull"]
    private static let ofRegion: Set = [
        "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect", "TemporaryRedirect",
    ]

    /// The failure that a response reports.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the response, by names in lowercase.
    ///   - now: The time of this machine.
    init(
        _ operation: S3Operation,
        status: Int,
        _ body: [UInt8],
        fields: [String: String],
        bucket: S3Bucket,
        now: Timestamp
    ) {
        let error = S3XML(body).flatMap { $0.name == "Error" ? $0 : nil }
        // The texts of another service go to the log.
        let code = Self.printable(error?["Code"] ?? "", 64)
        let message = Self.printable(error?["Message"] ?? "", 200)
        let name = code.isEmpty ? "status \(status)" : code
        let region = Self.printable(fields["x-amz-bucket-region"] ?? error?["Region"] ?? "", 64)
        switch code {
        case "RequestTimeTooSkewed":
            let theirs = fields["date"].flatMap { HTTPDate.seconds($0) }
            let ours = (now.microseconds + Timestamp.unixEpochOffset) / 1_000_000
            let difference = theirs.map { " by \(abs($0 - ours)) seconds" } ?? ""
            self.init(
                .refused,
                code,
                "The clock of this machine differs\(difference) from that of the store (\(name)); synchronize it."
            )
        case "InvalidAccessKeyId":
            self.init(.refused, code, "The store does not know the access key (\(name)); check s3-access-key.")
        case "SignatureDoesNotMatch":
            self.init(
                .refused,
                code,
                "The store does not accept the signature (\(name)); check s3-secret-key, and that no proxy changes requests."
            )
        case "NoSuchBucket":
            self.init(.refused, code, "The bucket \(bucket.name) does not exist (\(name)); check s3-bucket.")
        case "NoSuchKey", "NoSuchUpload":
            self.init(.missing, code, "The store does not have it (\(name)).")
        case _ where Self.full.contains(code) || status == 507:
            self.init(.full, code, "The store is full (\(name)).")
        case _ where Self.unavailable.contains(code) || status == 429 || status >= 500:
            self.init(.unavailable, code, "The store did not perform \(operation.rawValue) (\(name)).")
        case _ where Self.ofRegion.contains(code) || (300..<400).contains(status):
            let hint = region.isEmpty || region == bucket.region ? "" : " The bucket is in \(region)."
            self.init(
                .refused,
                code,
                "The bucket \(bucket.name) is in another region, or has another endpoint (\(name)); check s3-region and "
                    + "s3-endpoint.\(hint)"
            )
        case _ where status == 404 && code.isEmpty:
            self.init(.missing, code, "The store does not have it (\(name)).")
        default:
            self.init(
                .refused,
                code,
                "The store refused \(operation.rawValue) (\(name)).\(message.isEmpty ? "" : " It says: \(message)")"
            )
        }
    }

    /// The failure of a request without a response.
    init(_ operation: S3Operation, _ fault: CurlFault, bucket: S3Bucket) {
        switch fault {
        case .cancelled:
            self.init(.cancelled, "", "\(operation.rawValue) was cancelled.")
        case .failed, .busy, .noThread, .refused:
            let name = operation.rawValue
            self.init(.unavailable, "", "\(name) did not reach the store at \(bucket.host): \(fault.text).")
        }
    }

    private static func printable(_ text: String, _ count: Int) -> String {
        String(text.unicodeScalars.prefix(count).map { (0x20...0x7e).contains($0.value) ? Character($0) : "?" })
    }
}
