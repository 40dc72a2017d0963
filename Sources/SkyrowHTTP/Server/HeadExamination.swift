import NIOHTTP1

/// What the fields of a head say about the message, judged before a byte of its body is read.
struct HeadExamination {
    /// What is wrong whatever the body will be.
    private(set) var fault: HTTPFault?
    /// How many bytes the body will have; 0 when the head does not say.
    private(set) var announcedLength = 0

    init(_ head: HTTPRequestHead, bodyLimit: Int) {
        var hosts = 0
        var transferCodings = 0
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.isSameHeader(as: "host"):
                hosts += 1
            case 14 where name.isSameHeader(as: "content-length"):
                // The decoder let digits pass only; more of them than fit an Int are too many bytes as well.
                announcedLength = Int(value) ?? .max
                if announcedLength > bodyLimit { fault = fault ?? .bodyTooLarge }
            case 6 where name.isSameHeader(as: "expect"):
                if !value.isSameHeader(as: "100-continue") { fault = fault ?? .expectationFailed }
            case 17 where name.isSameHeader(as: "transfer-encoding"):
                transferCodings += 1
                if !value.isSameHeader(as: "chunked") { fault = fault ?? .unsupportedTransferCoding }
            default:
                continue
            }
        }
        if transferCodings > 1 { fault = fault ?? .unsupportedTransferCoding }
        // RFC 9112, 3.2: servers behind each other that choose different ones of two hosts can be played off against
        // each other. HTTP/1.0 did not have the field.
        if hosts > 1 || (hosts == 0 && head.version == .http1_1) { fault = fault ?? .malformed }
    }
}
