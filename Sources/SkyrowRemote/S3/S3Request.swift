/// An operation of the interface, as metrics and messages name it.
package enum S3Operation: String, CaseIterable, Hashable, Sendable {
    case put = "PutObject"
    case get = "GetObject"
    case head = "HeadObject"
    case delete = "DeleteObject"
    case list = "ListObjectsV2"
    case createUpload = "CreateMultipartUpload"
    case putPart = "UploadPart"
    case completeUpload = "CompleteMultipartUpload"
    case abortUpload = "AbortMultipartUpload"
    case listUploads = "ListMultipartUploads"

    var method: String {
        switch self {
        case .put, .putPart: "PUT"
        case .get, .list, .listUploads: "GET"
        case .head: "HEAD"
        case .delete, .abortUpload: "DELETE"
        case .createUpload, .completeUpload: "POST"
        }
    }
}

/// A request to a bucket, before it is signed.
struct S3Request: Sendable {
    let operation: S3Operation
    /// nil for the bucket itself.
    var key: String?
    var query: [(name: String, value: String)] = []
    /// The part of the object that is sent; nil for the whole.
    var range: Range<Int64>?
    var body: S3Body?

    init(
        _ operation: S3Operation,
        _ key: String? = nil,
        query: [(name: String, value: String)] = [],
        range: Range<Int64>? = nil,
        body: S3Body? = nil
    ) {
        self.operation = operation
        self.key = key
        self.query = query
        self.range = range
        self.body = body
    }

    /// Returns the address and the header fields with which the request is sent.
    ///
    /// - Parameter payload: The hash of the body as hexadecimal digits, or ``SigV4/unsigned``.
    func signed(
        for bucket: S3Bucket,
        payload: String,
        at time: SigningTime
    ) -> (address: String, fields: [(name: String, value: String)]) {
        var signed = SigV4.Request(
            method: operation.method,
            path: bucket.path(of: key),
            query: query,
            fields: [("host", bucket.host), ("x-amz-content-sha256", payload), ("x-amz-date", time.stamp)]
        )
        if let range { signed.fields.append(("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")) }
        let authorization = bucket.signer.authorization(of: signed, payload: payload, at: time)
        return (
            bucket.address(signed.path, query: signed.canonicalQuery),
            signed.fields + [("authorization", authorization)]
        )
    }
}

/// The bytes that a request sends, which can be read several times.
package struct S3Body: Sendable {
    package let length: Int64
    /// Reads up to a number of bytes at an offset, and calls `done` once, on any thread; with nil if they cannot be read.
    package let read: @Sendable (_ offset: Int64, _ count: Int, _ done: @escaping @Sendable ([UInt8]?) -> Void) -> Void

    package init(
        length: Int64,
        read: @escaping @Sendable (Int64, Int, @escaping @Sendable ([UInt8]?) -> Void) -> Void
    ) {
        self.length = length
        self.read = read
    }

    /// A body in memory.
    init(_ bytes: [UInt8]) {
        self.init(length: Int64(bytes.count)) { offset, count, done in
            done(Array(bytes.dropFirst(Int(offset)).prefix(count)))
        }
    }
}
