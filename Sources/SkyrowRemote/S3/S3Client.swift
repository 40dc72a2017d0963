import SkyrowConcurrency
import SkyrowCrypto
import SkyrowJSON
package import SkyrowModel
import SkyrowSystem

/// The objects of a bucket.
///
/// A request that fails because the store is overloaded or does not respond is tried three times.
///
/// ```swift
/// let client = try S3Client(bucket, now: clock.now)
/// try await client.put("app/7b0e…-cat.png", body)
/// try await client.get("app/7b0e…-cat.png", 0..<512) { part in … }
/// ```
package struct S3Client: Sendable {
    package let bucket: S3Bucket
    private let now: @Sendable () -> Timestamp
    private let sleep: @Sendable (Duration) async throws -> Void
    private let observe: @Sendable (S3Operation, S3Failure.Kind?) -> Void
    private let engine: TransferEngine

    /// Apart from those for documents, so that slow downloads do not take the places of these.
    private static let engine = TransferEngine(
        TransferEngine.Limits(
            transfers: 256,
            transfersOfServer: 256,
            connections: 256,
            connectionsOfServer: 256
        )
    )
    /// The times before the second and the third attempt.
    private static let pauses: [Duration] = [.milliseconds(200), .seconds(1)]

    /// Throws ``S3Failure`` if libcurl is not usable.
    ///
    /// - Parameters:
    ///   - sleep: Waits between attempts.
    ///   - observe: Called after each attempt of a request; with nil if it succeeded.
    package init(
        _ bucket: S3Bucket,
        now: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ServiceTimer.sleep(for: $0) },
        observe: @escaping @Sendable (S3Operation, S3Failure.Kind?) -> Void = { _, _ in }
    ) throws(S3Failure) {
        if let fault = Libcurl.fault { throw S3Failure(.refused, "", "libcurl cannot be used: \(fault)") }
        self.bucket = bucket
        self.now = now
        self.sleep = sleep
        self.observe = observe
        engine = S3Client.engine
    }

    // MARK: Objects

    package func put(_ key: String, _ body: S3Body) async throws(S3Failure) {
        _ = try await response(to: S3Request(.put, key, body: body))
    }

    /// Returns the size of an object; nil if it does not exist.
    package func size(of key: String) async throws(S3Failure) -> Int64? {
        do throws(S3Failure) {
            let response = try await response(to: S3Request(.head, key))
            guard let size = response.fields["content-length"].flatMap({ Int64($0) }) else { throw .garbled(.head) }
            return size
        } catch  where error.kind == .missing {
            return nil
        }
    }

    package func delete(_ key: String) async throws(S3Failure) {
        do throws(S3Failure) {
            _ = try await response(to: S3Request(.delete, key))
        } catch  where error.kind == .missing {
            // As a store without this error has it.
        }
    }

    /// Passes the bytes of a range to `body`, and reads on when it returns. After a lost connection it continues where it was.
    ///
    /// Throws ``S3Failure`` if not all of them arrive, and what `body` throws.
    package func get(
        _ key: String,
        _ range: Range<Int64>,
        _ body: (_ part: [UInt8]) async throws -> Void
    ) async throws {
        var rest = range
        var attempt = 0
        while !rest.isEmpty {
            let start = rest.lowerBound
            let transfer = transfer(S3Request(.get, key, range: rest), payload: Self.emptyHash)
            async let ended = outcome(of: transfer, .get)
            while let part = await transfer.next() {
                guard part.count <= rest.count else { throw S3Failure.garbled(.get) }
                rest = rest.lowerBound + Int64(part.count)..<rest.upperBound
                try await body(part)
            }
            switch await ended {
            case .success where rest.isEmpty: return
            case .success: throw S3Failure.garbled(.get)
            case .failure(let failure):
                if rest.lowerBound > start { attempt = 0 }
                try await pause(after: failure, &attempt)
            }
        }
    }

    // MARK: Lists

    /// An object of a list.
    package struct Entry: Hashable, Sendable {
        package var key: String
        package var size: Int64
        package var modifiedAt: Timestamp
    }

    /// Returns some objects in the order of their keys; `isLast` says whether there are no more.
    ///
    /// - Parameters:
    ///   - last: The key behind which the page begins.
    ///   - limit: At most 1000.
    package func objects(
        prefix: String,
        after last: String? = nil,
        limit: Int = 1000
    ) async throws(S3Failure) -> (entries: [Entry], isLast: Bool) {
        var query: [(name: String, value: String)] = [
            ("list-type", "2"), ("max-keys", "\(limit)"), ("prefix", prefix),
        ]
        if let last { query.append(("start-after", last)) }
        let list = try await document(.list, query, named: "ListBucketResult")
        let entries = try list.all("Contents").map { object throws(S3Failure) -> Entry in
            guard let key = object["Key"], let size = object["Size"].flatMap({ Int64($0) }),
                let time = try? Timestamp(rfc3339: object["LastModified"] ?? "")
            else { throw .garbled(.list) }
            return Entry(key: key, size: size, modifiedAt: time)
        }
        // A page without an end would be asked for again and again.
        return (entries, list["IsTruncated"] != "true" || entries.isEmpty)
    }

    /// An upload in parts that is not complete.
    package struct OpenUpload: Hashable, Sendable {
        package var key: String
        package var id: String
        package var beganAt: Timestamp
    }

    /// Returns up to 1000 of the uploads in parts that are not complete.
    package func openUploads(prefix: String) async throws(S3Failure) -> [OpenUpload] {
        let list = try await document(
            .listUploads,
            [("prefix", prefix), ("uploads", "")],
            named: "ListMultipartUploadsResult"
        )
        return list.all("Upload").compactMap { upload in
            guard let key = upload["Key"], let id = upload["UploadId"],
                let time = try? Timestamp(rfc3339: upload["Initiated"] ?? "")
            else { return nil }
            return OpenUpload(key: key, id: id, beganAt: time)
        }
    }

    // MARK: Uploads in parts

    /// Begins an upload in parts, and returns its id.
    package func beginUpload(_ key: String) async throws(S3Failure) -> String {
        let response = try await response(to: S3Request(.createUpload, key, query: [("uploads", "")], body: S3Body([])))
        guard let id = S3XML(response.bytes)?["UploadId"], !id.isEmpty else { throw .garbled(.createUpload) }
        return id
    }

    /// Uploads a part, and returns its tag.
    ///
    /// - Parameter number: From 1 on.
    package func putPart(
        _ key: String,
        _ upload: String,
        number: Int,
        _ body: S3Body
    ) async throws(S3Failure) -> String {
        let response = try await response(
            to: S3Request(.putPart, key, query: [("partNumber", "\(number)"), ("uploadId", upload)], body: body)
        )
        guard let tag = response.fields["etag"], !tag.isEmpty else { throw .garbled(.putPart) }
        return tag
    }

    /// Makes the parts an object.
    ///
    /// - Parameters:
    ///   - tags: Of all parts, in their order.
    ///   - size: The bytes of all parts.
    package func completeUpload(
        _ key: String,
        _ upload: String,
        tags: [String],
        size: Int64
    ) async throws(S3Failure) {
        let parts = zip(1..., tags).map { number, tag in
            "<Part><PartNumber>\(number)</PartNumber><ETag>\(Self.escaped(tag))</ETag></Part>"
        }
        let body = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        do throws(S3Failure) {
            _ = try await response(
                to: S3Request(.completeUpload, key, query: [("uploadId", upload)], body: S3Body(Array(body.utf8)))
            )
        } catch  where error.kind == .missing {
            // An attempt whose response was lost may have completed it.
            guard try await self.size(of: key) == size else { throw error }
        }
    }

    package func abortUpload(_ key: String, _ upload: String) async throws(S3Failure) {
        do throws(S3Failure) {
            _ = try await response(to: S3Request(.abortUpload, key, query: [("uploadId", upload)]))
        } catch  where error.kind == .missing {
            // It has ended meanwhile.
        }
    }

    private static func escaped(_ text: String) -> String {
        text.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            default: String(character)
            }
        }.joined()
    }

    // MARK: Requests

    /// The hash of an empty body.
    private static let emptyHash = Hexadecimal.text(SHA256.hash(of: "").bytes)

    private func document(
        _ operation: S3Operation,
        _ query: [(name: String, value: String)],
        named name: String
    ) async throws(S3Failure) -> S3XML {
        let response = try await response(to: S3Request(operation, query: query))
        guard let document = S3XML(response.bytes), document.name == name else { throw .garbled(operation) }
        return document
    }

    /// Sends a request until it succeeds, or cannot.
    private func response(to request: S3Request) async throws(S3Failure) -> S3Response {
        let payload = try await payload(of: request)
        var attempt = 0
        while true {
            switch await outcome(of: transfer(request, payload: payload), request.operation) {
            case .success(let response): return response
            case .failure(let failure): try await pause(after: failure, &attempt)
            }
        }
    }

    /// Waits before the next attempt; throws the failure if there is none.
    private func pause(after failure: S3Failure, _ attempt: inout Int) async throws(S3Failure) {
        guard failure.kind == .unavailable, attempt < Self.pauses.count,
            (try? await sleep(Self.pauses[attempt])) != nil
        else { throw failure }
        attempt += 1
    }

    private func transfer(_ request: S3Request, payload: String) -> S3Transfer {
        S3Transfer(
            request,
            to: bucket,
            payload: payload,
            at: SigningTime(now()),
            timeout: request.body == nil && request.range == nil ? .seconds(60) : .seconds(86_400)
        )
    }

    /// Performs one attempt.
    private func outcome(of transfer: S3Transfer, _ operation: S3Operation) async -> Result<S3Response, S3Failure> {
        let outcome: Result<S3Response, S3Failure>
        do throws(CurlFault) {
            _ = try await engine.perform(transfer)
            outcome = judge(transfer.end(), operation)
        } catch {
            _ = transfer.end()
            outcome = .failure(S3Failure(operation, error, bucket: bucket))
        }
        if case .failure(let failure) = outcome { observe(operation, failure.kind) } else { observe(operation, nil) }
        return outcome
    }

    private func judge(_ response: S3Response, _ operation: S3Operation) -> Result<S3Response, S3Failure> {
        // The completion of an upload sends its status before it is known.
        let isError = operation == .completeUpload && S3XML(response.bytes)?.name == "Error"
        guard (200..<300).contains(response.status), !isError else {
            return .failure(
                S3Failure(
                    operation,
                    status: isError ? 500 : response.status,
                    response.bytes,
                    fields: response.fields,
                    bucket: bucket,
                    now: now()
                )
            )
        }
        return .success(response)
    }

    /// Returns what is signed of a body: nothing where the connection protects it, else its hash.
    private func payload(of request: S3Request) async throws(S3Failure) -> String {
        guard let body = request.body, body.length > 0 else { return Self.emptyHash }
        guard !bucket.isEncrypted else { return SigV4.unsigned }
        var hash = SHA256()
        var offset: Int64 = 0
        while offset < body.length {
            let part = Deferred<[UInt8]?>()
            body.read(offset, Int(min(Int64(S3Transfer.capacity), body.length - offset))) { part.settle($0) }
            guard let bytes = await part.value(), !bytes.isEmpty else {
                throw S3Failure(.refused, "", "A file for \(request.operation.rawValue) cannot be read.")
            }
            hash.update(bytes)
            offset += Int64(bytes.count)
        }
        return Hexadecimal.text(hash.finish().bytes)
    }
}

extension S3Failure {
    fileprivate static func garbled(_ operation: S3Operation) -> S3Failure {
        S3Failure(.refused, "", "The response of the store to \(operation.rawValue) cannot be read.")
    }
}
