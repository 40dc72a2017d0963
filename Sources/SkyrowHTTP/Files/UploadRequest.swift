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
    /// Whether it is a request of this service, and not one of Skygear's SDKs, which expect the status 200.
    let isDirect: Bool

    /// Throws `107 BadRequest` for a body in another form than its path requires, and `108 InvalidArgument`.
    ///
    /// - Parameters:
    ///   - name: what follows `/files/` in the path, not decoded.
    ///   - field: the field of a record that the path names.
    init(
        _ head: HTTPRequestHead,
        name: Substring,
        field: FileField? = nil,
        query: FileQuery
    ) throws(SkyrowError) {
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
        let filename =
            if let field {
                query.filename ?? MediaTypes.filename(of: field.name.rawValue, type: type)
            } else if head.method == .PUT {
                try FieldPath.decoded(name)
            } else {
                query.filename ?? ""
            }
        guard !filename.isEmpty else { throw .invalidArgument("The file has no name.", "filename") }
        isDirect = head.method == .POST || field != nil
        let declared = type.isEmpty ? nil : type
        if let field {
            target = .field(field, try SavePrecondition(head.headers), filename: filename, contentType: declared)
        } else {
            target = .new(filename: filename, contentType: declared)
        }
        // A number that does not fit exceeds every limit.
        length = head.headers["content-length"].first.map { Int($0) ?? .max }
        checks = try UploadChecks(head.headers)
        form = nil
    }
}
