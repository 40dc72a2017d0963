import NIOHTTP1
import SkyrowActions
import SkyrowModel

/// An upload as its head describes it, before any byte of the body is read.
struct UploadRequest: Sendable {
    let target: UploadTarget
    /// The bytes of the file; nil where the head does not say how many there are.
    let length: Int?
    let checks: UploadChecks
    /// Reads the form in which the file is sent; nil for a body that is the file.
    let form: MultipartReader?
    /// Whether it is `POST /files?filename=…`, and not a request of Skygear's SDKs.
    let isDirect: Bool

    /// Throws `107 BadRequest` for a body in another form than its path requires, and `108 InvalidArgument`.
    ///
    /// - Parameter name: what follows `/files/` in the path, not decoded.
    init(_ head: HTTPRequestHead, name: Substring, query: FileQuery) throws(SkyrowError) {
        let type = head.headers["content-type"].first ?? ""
        if head.method == .POST, !name.isEmpty {
            guard let asset = AssetName(name) else { throw .fileNotFound }
            guard let reader = MultipartReader(contentType: type) else {
                throw SkyrowError(.badRequest, "Send the file in the part \"file\" of a form (multipart/form-data).")
            }
            let checks = try UploadChecks(head.headers)
            guard checks.md5 == nil, checks.sha256 == nil else {
                throw .invalidArgument("A form has no checksum. Send the file as the body, by POST /files?filename=…")
            }
            (target, form, isDirect) = (.announced(asset, query.signature), reader, false)
            (length, self.checks) = (nil, checks)
            return
        }
        guard MultipartReader(contentType: type) == nil else {
            throw SkyrowError(.badRequest, "Send the bytes of the file as the body. A form is for a file of asset:put.")
        }
        let filename: String
        if head.method == .PUT {
            guard let decoded = FormFields.decoded(name.utf8, plusIsSpace: false) else {
                throw .invalidArgument("The path of this address cannot be decoded.")
            }
            filename = decoded
        } else {
            filename = query.filename ?? ""
        }
        guard !filename.isEmpty else { throw .invalidArgument("The file has no name.", "filename") }
        isDirect = head.method == .POST
        target = .new(filename: filename, contentType: type.isEmpty ? nil : type)
        // A number that does not fit exceeds every limit.
        length = head.headers["content-length"].first.map { Int($0) ?? .max }
        checks = try UploadChecks(head.headers)
        form = nil
    }
}
