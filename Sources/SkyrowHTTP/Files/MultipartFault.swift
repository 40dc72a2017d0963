/// Why a body is not read as `multipart/form-data`.
enum MultipartFault: Error, Hashable, Sendable, CaseIterable {
    /// The body ends before its last boundary.
    case incomplete
    /// The text before the first boundary is too long.
    case preambleTooLong
    /// A line that begins with the boundary does not end behind it.
    case malformedBoundary
    case tooManyParts
    case headerTooLong
    /// A header is not made of fields in lines that end with CR LF, or a part has no valid `Content-Disposition`.
    case malformedHeader
    case nameTooLong
    /// The content has a `Content-Transfer-Encoding`, which RFC 7578 does not permit.
    case encodedContent

    /// A sentence for the client.
    var message: String {
        switch self {
        case .incomplete: "The body ends before its last boundary."
        case .preambleTooLong: "The body does not begin with its boundary."
        case .malformedBoundary: "A line of the body has more than the boundary."
        case .tooManyParts: "The body has more than \(MultipartReader.maximumParts) parts."
        case .headerTooLong: "The header of a part is longer than \(MultipartReader.maximumHeader) bytes."
        case .malformedHeader: "The header of a part is malformed."
        case .nameTooLong: "The name of a part is longer than \(MultipartHeader.maximumName) bytes."
        case .encodedContent: "The content of a part is encoded; send its bytes as they are."
        }
    }
}
