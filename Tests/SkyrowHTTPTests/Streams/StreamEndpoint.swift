import Foundation
import NIOCore
import NIOHTTP1
import SkyrowHTTP
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization

/// Paths whose bodies are streams and files, which no path of the service is yet.
///
/// - `POST /stream/count`: how many bytes the body has; `?slow` takes the first parts slowly
/// - `POST /stream/echo`: the body, part by part
/// - `POST /stream/refuse`: 403, and nothing of the body is taken
/// - `POST /stream/idle`: nothing of the body is taken, and nothing is sent
/// - `GET /stream/bytes?<count>`: that number of bytes, which is not announced; with `&length` it is
/// - `GET /stream/hang`: one part, and then nothing
/// - `GET /stream/fail`: one part, and then an error
/// - `GET /stream/short`: fewer bytes than announced
/// - `GET /stream/file?<path>` and `&<from>-<to>`: a file, or these bytes of it
struct StreamEndpoint: HTTPEndpoint {
    /// What a test sees of the endpoint.
    final class Record: Sendable {
        let began = Gate<Void>("the endpoint to begin")
        /// The error with which a stream ended.
        let ended = Gate<String>("a stream to end early")
        let produced = Atomic<Int>(0)
        let largestBuffer = Atomic<Int>(0)

        /// Bytes that were written.
        var producedBytes: Int { produced.load(ordering: .relaxed) }
        /// The most bytes of bodies that were in memory at once.
        var largestBytes: Int { largestBuffer.load(ordering: .relaxed) }
    }

    let record = Record()
    var limit = 1 << 31
    /// Counts the bodies in memory.
    var counts: HTTPServerCounts?

    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode {
        head.method == .POST ? .streamed(limit: limit) : .collected()
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        record.began.open()
        let target = request.head.uri.split(separator: "?", maxSplits: 1)
        let query = target.count > 1 ? String(target[1]) : ""
        switch (target[0], request.body) {
        case ("/stream/count", .stream(let body)):
            return await count(body, isSlow: query == "slow")
        case ("/stream/echo", .stream(let body)):
            return HTTPResponse(status: .ok, contentType: .octets, body: .stream(echo(body)))
        case ("/stream/refuse", _):
            return HTTPResponse(status: .forbidden, contentType: .plainText, body: ByteBuffer(string: "no"))
        case ("/stream/idle", _):
            try? await Task.sleep(for: .seconds(3600))
            record.ended.open("cancelled")
            return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(string: "cancelled"))
        case ("/stream/bytes", _):
            let values = query.split(separator: "&")
            return bytes(Int(values[0]) ?? 0, isAnnounced: values.count > 1)
        case ("/stream/hang", _):
            return parts { try await Task.sleep(for: .seconds(3600)) }
        case ("/stream/fail", _):
            return parts { throw CancellationError() }
        case ("/stream/short", _):
            return parts(length: 1000) {}
        case ("/stream/file", _):
            return file(query)
        default:
            return HTTPResponse(status: .notFound)
        }
    }

    private func count(_ body: RequestBodyStream, isSlow: Bool) async -> HTTPResponse {
        var total = 0
        var taken = 0
        do {
            for try await part in body {
                total += part.readableBytes
                taken += 1
                note(inFlight: part.readableBytes)
                if isSlow, taken < 20 { try await Task.sleep(for: .milliseconds(5)) }
            }
        } catch {
            record.ended.open("\(error)")
        }
        return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(string: "\(total)"))
    }

    /// Takes note of the bytes that are in memory: the part at hand, and those that wait.
    private func note(inFlight part: Int) {
        let bytes = part + (counts?.statistics.bodyBytes ?? 0)
        record.largestBuffer.max(bytes, ordering: .relaxed)
    }

    private func echo(_ body: RequestBodyStream) -> ResponseStream {
        ResponseStream { writer in
            do {
                for try await part in body {
                    note(inFlight: part.readableBytes)
                    try await writer.write(part)
                }
            } catch {
                record.ended.open("\(error)")
                throw error
            }
        }
    }

    private func bytes(_ count: Int, isAnnounced: Bool) -> HTTPResponse {
        let stream = ResponseStream(length: isAnnounced ? count : nil) { writer in
            var rest = count
            let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: 50_000)
            do {
                while rest > 0 {
                    let length = min(rest, 50_000)
                    try await writer.write(part.getSlice(at: 0, length: length) ?? part)
                    rest -= length
                    record.produced.add(length, ordering: .relaxed)
                }
            } catch {
                record.ended.open("\(error)")
                throw error
            }
        }
        return HTTPResponse(status: .ok, contentType: .octets, body: .stream(stream))
    }

    private func parts(length: Int? = nil, _ end: @escaping @Sendable () async throws -> Void) -> HTTPResponse {
        let stream = ResponseStream(length: length) { writer in
            try await writer.write(ByteBuffer(string: "part"))
            do {
                try await end()
            } catch {
                record.ended.open("\(error)")
                throw error
            }
        }
        return HTTPResponse(status: .ok, contentType: .octets, body: .stream(stream))
    }

    private func file(_ query: String) -> HTTPResponse {
        let values = query.split(separator: "&").map(String.init)
        var range: Range<Int>?
        if values.count > 1 {
            let bounds = values[1].split(separator: "-").compactMap { Int($0) }
            range = bounds[0]..<bounds[1]
        }
        do {
            let file = try ResponseFile(path: values[0], range: range)
            return HTTPResponse(status: range == nil ? .ok : .partialContent, contentType: .octets, body: .file(file))
        } catch {
            return HTTPResponse(status: .notFound)
        }
    }
}

/// Serves the endpoint alone, without a service behind it.
struct StreamResponder: HTTPResponder {
    let endpoint: StreamEndpoint

    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode { endpoint.bodyMode(of: head) }

    func respond(to request: HTTPRequest) async -> HTTPResponse { await endpoint.respond(to: request) }

    func standing(of head: HTTPRequestHead) -> RequestStanding {
        head.headers.contains(name: "stranger") ? .missing : .accepted
    }

    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse {
        HTTPResponse(status: fault.status, contentType: .plainText, body: ByteBuffer(string: "\(fault)"))
    }
}

/// How many bytes a test streams: 64 MB, or as many as `SKYROW_TEST_STREAM_BYTES` says.
let streamedBytes: Int =
    ProcessInfo.processInfo.environment["SKYROW_TEST_STREAM_BYTES"].flatMap { Int($0) } ?? 64 << 20
