import SkyrowModel
import Testing

@testable import SkyrowRemote

/// What the operator reads about a store that does not do what the service needs.
@Suite struct S3FailureTests {
    private struct Row: Sendable {
        var status: Int
        var code: String?
        var fields: [String: String] = [:]
        var kind: S3Failure.Kind
        var text: String
    }

    private static let rows = [
        Row(status: 404, code: "NoSuchKey", kind: .missing, text: "The store does not have it (NoSuchKey)."),
        Row(status: 404, code: nil, kind: .missing, text: "The store does not have it (status 404)."),
        Row(status: 404, code: "NoSuchUpload", kind: .missing, text: "The store does not have it (NoSuchUpload)."),
        Row(
            status: 404,
            code: "NoSuchBucket",
            kind: .refused,
            text: "The bucket files does not exist (NoSuchBucket); check s3-bucket."
        ),
        Row(
            status: 403,
            code: "InvalidAccessKeyId",
            kind: .refused,
            text: "The store does not know the access key (InvalidAccessKeyId); check s3-access-key."
        ),
        Row(
            status: 403,
            code: "SignatureDoesNotMatch",
            kind: .refused,
            text: """
                The store does not accept the signature (SignatureDoesNotMatch); check s3-secret-key, and that no proxy \
                changes requests.
                """
        ),
        Row(
            status: 403,
            code: "RequestTimeTooSkewed",
            fields: ["date": "Sat, 01 Jan 2000 01:00:00 GMT"],
            kind: .refused,
            text: "The clock of this machine differs by 3600 seconds from that of the store (RequestTimeTooSkewed); "
                + "synchronize it."
        ),
        Row(
            status: 403,
            code: "RequestTimeTooSkewed",
            kind: .refused,
            text: "The clock of this machine differs from that of the store (RequestTimeTooSkewed); synchronize it."
        ),
        Row(
            status: 403,
            code: "AccessDenied",
            kind: .refused,
            text: "The store refused PutObject (AccessDenied). It says: A message"
        ),
        Row(status: 403, code: nil, kind: .refused, text: "The store refused PutObject (status 403)."),
        Row(
            status: 301,
            code: "PermanentRedirect",
            fields: ["x-amz-bucket-region": "eu-west-1"],
            kind: .refused,
            text: """
                The bucket files is in another region, or has another endpoint (PermanentRedirect); check s3-region \
                and s3-endpoint. The bucket is in eu-west-1.
                """
        ),
        Row(
            status: 400,
            code: "AuthorizationHeaderMalformed",
            fields: ["x-amz-bucket-region": "eu-central-1"],
            kind: .refused,
            text: """
                The bucket files is in another region, or has another endpoint (AuthorizationHeaderMalformed); check \
                s3-region and s3-endpoint.
                """
        ),
        Row(
            status: 307,
            code: nil,
            kind: .refused,
            text: """
                The bucket files is in another region, or has another endpoint (status 307); check s3-region and \
                s3-endpoint.
                """
        ),
        Row(status: 503, code: "SlowDown", kind: .unavailable, text: "The store did not perform PutObject (SlowDown)."),
        Row(status: 500, code: nil, kind: .unavailable, text: "The store did not perform PutObject (status 500)."),
        Row(status: 429, code: nil, kind: .unavailable, text: "The store did not perform PutObject (status 429)."),
        Row(
            status: 400,
            code: "RequestTimeout",
            kind: .unavailable,
            text: "The store did not perform PutObject (RequestTimeout)."
        ),
        Row(status: 403, code: "QuotaExceeded", kind: .full, text: "The store is full (QuotaExceeded)."),
        Row(status: 507, code: "XMinioStorageFull", kind: .full, text: "The store is full (XMinioStorageFull)."),
    ]

    private var bucket: S3Bucket {
        get throws {
            let bucket = S3Bucket(
                "files",
                at: "https://s3.example.org",
                region: "eu-central-1",
                accessKey: "key",
                secretKey: "secret"
            )
            return try #require(bucket)
        }
    }

    @Test(arguments: rows.indices) func aResponseSaysWhatIsWrong(_ index: Int) throws {
        let row = Self.rows[index]
        let body = row.code.map { "<Error><Code>\($0)</Code><Message>A message</Message></Error>" } ?? ""
        let failure = S3Failure(
            .put,
            status: row.status,
            Array(body.utf8),
            fields: row.fields,
            bucket: try bucket,
            now: Timestamp(microseconds: 0)
        )
        #expect(failure == S3Failure(row.kind, row.code ?? "", row.text))
    }

    /// It goes to the log.
    @Test func theTextOfTheStoreIsShortAndPrintable() throws {
        let message = "a\nb\u{1b}[31m" + String(repeating: "x", count: 1000)
        let failure = S3Failure(
            .get,
            status: 400,
            Array("<Error><Code>Odd</Code><Message>\(message)</Message></Error>".utf8),
            fields: [:],
            bucket: try bucket,
            now: Timestamp(microseconds: 0)
        )
        #expect(failure.description.hasPrefix("The store refused GetObject (Odd). It says: a?b?[31mxx"))
        #expect(failure.description.utf8.count < 300)
    }

    @Test func aConnectionFailsForAReason() throws {
        let bucket = try bucket
        #expect(S3Failure(.get, .cancelled, bucket: bucket).kind == .cancelled)
        for fault in [CurlFault.busy, .noThread] {
            let failure = S3Failure(.get, fault, bucket: bucket)
            #expect(failure.kind == .unavailable)
            #expect(failure.description.hasPrefix("GetObject did not reach the store at files.s3.example.org: "))
        }
    }
}
