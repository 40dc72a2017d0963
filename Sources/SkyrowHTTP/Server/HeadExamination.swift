import NIOHTTP1
import SkyrowModel

/// The properties of a message that its head determines, examined before any of the body is read.
struct HeadExamination: Sendable {
    /// The fault of the head, regardless of the body.
    private(set) var fault: HTTPFault?
    /// The announced number of body bytes; 0 when the head announces none.
    private(set) var announcedLength = 0
    /// Whether the message may have a body.
    private(set) var hasBody: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    private(set) var expectsContinue = false
    /// Whether the decoder stops after this request, because another protocol would follow.
    private(set) var endsHTTP: Bool

    /// - Parameter hasBody: Whether a body is possible regardless of the fields, as in HTTP/2.
    init(_ head: HTTPRequestHead, bodyLimit: Int, hasBody: Bool = false) {
        self.hasBody = hasBody
        endsHTTP = head.method == .CONNECT
        var hosts = 0
        var transferCodings = 0
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.isSameHeader(as: "host"):
                hosts += 1
            case 14 where name.isSameHeader(as: "content-length"):
                // The decoder accepts digits only; a number that does not fit an Int exceeds every limit.
                announcedLength = Int(value) ?? .max
                if announcedLength > bodyLimit { fault = fault ?? .bodyTooLarge }
            case 6 where name.isSameHeader(as: "expect"):
                expectsContinue = head.version != .http1_0
                if !value.isSameHeader(as: "100-continue") { fault = fault ?? .expectationFailed }
            case 7 where name.isSameHeader(as: "upgrade"):
                endsHTTP = true
            case 16 where name.isSameHeader(as: "content-encoding"):
                // RFC 9110, 8.4.1: "identity" is reserved, and some clients send it.
                if !value.isSameHeader(as: "identity") { fault = fault ?? .unsupportedContentCoding }
            case 17 where name.isSameHeader(as: "transfer-encoding"):
                transferCodings += 1
                if !value.isSameHeader(as: "chunked") { fault = fault ?? .unsupportedTransferCoding }
            default:
                continue
            }
        }
        if announcedLength > 0 || transferCodings > 0 { self.hasBody = true }
        if transferCodings > 1 { fault = fault ?? .unsupportedTransferCoding }
        // RFC 9112, 3.2: with two hosts, servers behind each other might choose different ones, which can be exploited. HTTP/1.0
        // did not have the field.
        if hosts > 1 || (hosts == 0 && head.version == .http1_1) { fault = fault ?? .malformed }
    }
}

extension String {
    /// Compares ASCII texts case-insensitively.
    func isSameHeader(as lowercase: StaticString) -> Bool {
        guard utf8.count == lowercase.utf8CodeUnitCount else { return false }
        return withBytes { bytes in
            for (index, byte) in bytes.enumerated() {
                let folded = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
                guard folded == lowercase.utf8Start[index] else { return false }
            }
            return true
        }
    }
}
