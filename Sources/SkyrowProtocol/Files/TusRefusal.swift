package import SkyrowModel

/// Why a request of a resumable upload is refused, where tus 1.0.0 has a status of HTTP for the reason.
package enum TusRefusal: String, CaseIterable, Sendable {
    /// The offset is not that of the upload.
    case offset
    /// The bytes do not have the checksum of the request.
    case checksum
    /// The request is of another version of the protocol.
    case version
    /// The media type is not that of a part.
    case contentType = "content-type"
    /// Another request writes the upload.
    case busy

    package var status: Int {
        switch self {
        case .offset: 409
        case .checksum: 460
        case .version: 412
        case .contentType: 415
        case .busy: 423
        }
    }

    package var error: SkyrowError {
        let (code, message): (ErrorCode, String) =
            switch self {
            case .offset: (.conflict, "The upload does not continue at this offset; HEAD returns the right one.")
            case .checksum:
                (.invalidArgument, "The bytes do not have the checksum of the request; nothing of them was kept.")
            case .version:
                (.notSupported, "Send Tus-Resumable: \(TusRequest.version), the only version that is supported.")
            case .contentType: (.badRequest, "A part of an upload has the Content-Type \(TusRequest.contentType).")
            case .busy: (.overloaded, "Another request writes this upload; try again in a moment.")
            }
        return SkyrowError(code, message, info: [Self.key: .string(rawValue)])
    }

    /// The reason in an error; nil for another error.
    package init?(_ error: SkyrowError) {
        guard case .string(let reason)? = error.info[Self.key] else { return nil }
        self.init(rawValue: reason)
    }

    private static let key = "upload"
}
