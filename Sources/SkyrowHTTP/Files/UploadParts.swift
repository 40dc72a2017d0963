import NIOCore
import SkyrowActions
import SkyrowModel

/// The parts of an upload's body; the next one is read from the client when it is asked for.
///
/// A part has what has arrived while the storage wrote the previous one, so a fast client causes few large writes. In memory are
/// one part, the window of the connection and what one read brings beyond it: 320 KB of an upload, 10 MB of 32.
struct UploadParts: Sendable {
    /// Upper bound on the bytes of a part.
    static let maximumBytes = RequestLifecycle.window

    private var whole: ByteBuffer?
    private let stream: RequestBodyStream?
    private let maximum: Int
    private let limits: HTTPLimits

    /// - Parameters:
    ///   - maximum: the bytes that a file may have, for the message.
    ///   - limits: the limits of the server, for its messages.
    init(of body: RequestBody, maximum: Int, limits: HTTPLimits) {
        switch body {
        case .collected(let bytes): (whole, stream) = (bytes, nil)
        case .stream(let parts): (whole, stream) = (nil, parts)
        }
        self.maximum = maximum
        self.limits = limits
    }

    /// Returns the next part; nil after the last.
    ///
    /// Throws when the rest of the body will not arrive: the client has left, sends too slowly or too much.
    mutating func next() async throws(SkyrowError) -> [UInt8]? {
        do {
            guard let part = try await stream?.next() ?? whole.take() else { return nil }
            let rest = stream?.arrived(atMost: UploadParts.maximumBytes - part.readableBytes) ?? []
            var bytes: [UInt8] = []
            bytes.reserveCapacity(rest.reduce(part.readableBytes) { $0 + $1.readableBytes })
            for part in [part] + rest { part.withUnsafeReadableBytes { bytes.append(contentsOf: $0) } }
            return bytes
        } catch let fault as HTTPFault {
            // The connection has responded with the same.
            throw fault == .bodyTooLarge ? .fileTooLarge(Int64(maximum)) : SkyrowError(fault, limits: limits)
        } catch {
            throw .responseTimedOut
        }
    }
}
