package import SkyrowModel

/// A request of a resumable upload (tus 1.0.0), by its head.
///
/// ```
/// POST   /files/tus       begins an upload, with its first bytes if the request has any
/// HEAD   /files/tus/<id>  how much of it has arrived
/// PATCH  /files/tus/<id>  the next bytes
/// DELETE /files/tus/<id>  ends it
/// ```
package enum TusRequest: Hashable, Sendable {
    /// - Parameter length: of the whole file, in bytes.
    case create(length: Int64, UploadMetadata, TusChecksum?, hasPart: Bool)
    case status(UploadID)
    case append(UploadID, offset: Int64, TusChecksum?)
    case remove(UploadID)

    package static let version = "1.0.0"
    package static let extensions = "creation,creation-with-upload,expiration,checksum,termination"
    package static let contentType = "application/offset+octet-stream"

    /// The path of uploads below `/files`, as far as it belongs to them.
    package struct Path: Hashable, Sendable {
        /// What follows `tus/`; nil for the path that creates uploads.
        fileprivate let id: Substring?

        /// - Parameter name: what follows `/files/` in the path, not decoded. Returns nil for another path.
        package init?(_ name: Substring) {
            if name == "tus" || name == "tus/" {
                id = nil
            } else if name.hasPrefix("tus/") {
                id = name.dropFirst("tus/".count)
            } else {
                return nil
            }
        }

        package var methods: String { id == nil ? "POST, OPTIONS" : "HEAD, PATCH, DELETE, OPTIONS" }
    }

    /// Reads the head of a request; returns nil for a method that its path does not have.
    ///
    /// Throws ``TusRefusal/version`` and ``TusRefusal/contentType``, `108 InvalidArgument` for a field that is missing or cannot be
    /// read, `110 ResourceNotFound` for a text that is not an identifier, and `111 NotSupported` for what is not offered.
    ///
    /// - Parameter fields: Returns the values of a header field, by its name in lowercase.
    package init?(method: String, _ path: Path, fields: (_ name: String) -> [String]) throws(SkyrowError) {
        guard fields("tus-resumable") == [Self.version] else { throw TusRefusal.version.error }
        guard fields("x-http-method-override").isEmpty else {
            throw SkyrowError(.notSupported, "X-HTTP-Method-Override is not supported; send the method itself.")
        }
        guard let text = path.id else {
            guard method == "POST" else { return nil }
            self = try Self.creation(fields)
            return
        }
        guard ["HEAD", "PATCH", "DELETE"].contains(method) else { return nil }
        guard let id = UploadID(text) else { throw .uploadNotFound }
        switch method {
        case "HEAD": self = .status(id)
        case "DELETE": self = .remove(id)
        default:
            guard Self.isPart(fields) else { throw TusRefusal.contentType.error }
            self = .append(id, offset: try Self.number("upload-offset", fields), try Self.checksum(fields))
        }
    }

    private static func creation(_ fields: (String) -> [String]) throws(SkyrowError) -> TusRequest {
        guard fields("upload-defer-length").isEmpty else {
            throw SkyrowError(.notSupported, "Upload-Defer-Length is not supported; send Upload-Length.")
        }
        guard fields("upload-concat").isEmpty else {
            throw SkyrowError(.notSupported, "Upload-Concat is not supported; upload each file by itself.")
        }
        let hasPart = isPart(fields)
        let length = fields("content-length").first.map { Int64($0) ?? .max } ?? 0
        guard hasPart || length == 0 && fields("transfer-encoding").isEmpty else { throw TusRefusal.contentType.error }
        return .create(
            length: try number("upload-length", fields),
            try UploadMetadata(try value("upload-metadata", fields) ?? ""),
            try checksum(fields),
            hasPart: hasPart
        )
    }

    private static func isPart(_ fields: (String) -> [String]) -> Bool {
        let types = fields("content-type")
        return types.count == 1 && MediaType(types[0])?.rawValue == contentType
    }

    private static func checksum(_ fields: (String) -> [String]) throws(SkyrowError) -> TusChecksum? {
        guard let text = try value("upload-checksum", fields) else { return nil }
        return try TusChecksum(text)
    }

    /// Returns a number of bytes, of digits alone.
    private static func number(_ name: String, _ fields: (String) -> [String]) throws(SkyrowError) -> Int64 {
        let text = try value(name, fields) ?? ""
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .invalidArgument("This field is a number of bytes.", name)
        }
        // A number that does not fit exceeds every limit.
        return Int64(text) ?? .max
    }

    /// Returns the only value of a field; nil without one.
    private static func value(_ name: String, _ fields: (String) -> [String]) throws(SkyrowError) -> String? {
        let values = fields(name)
        guard values.count <= 1 else { throw .invalidArgument("Send this field once.", name) }
        return values.first
    }
}

extension SkyrowError {
    /// The same for an upload that does not exist, that has expired, and that the caller may not continue.
    package static let uploadNotFound = SkyrowError(.resourceNotFound, "The upload does not exist.")
}
