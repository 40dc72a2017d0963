import NIOHTTP1
import SkyrowActions
import SkyrowModel

/// The path of a file in a field of a record, `records/<type>/<id>/<field>`, behind `/files/`.
///
/// Characters of a part are escaped, so the id `a/b` is `a%2Fb`. It is decoded once, and parsed by its type.
///
/// ```swift
/// try FieldPath("records/note/9/photo")?.field(in: nil).record   // note/9
/// ```
struct FieldPath: Sendable {
    private let parts: [Substring]

    /// Returns nil for the path of another file.
    init?(_ path: Substring) {
        let prefix = "records/"
        // No name of a file begins like this.
        guard path.hasPrefix(prefix) else { return nil }
        parts = path.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Throws `110 ResourceNotFound` for another number of parts, and `108 InvalidArgument` for one that cannot be decoded or is
    /// not what its place requires.
    ///
    /// - Parameter database: the database of the record, as a query names it; nil for the public one.
    func field(in database: String?) throws(SkyrowError) -> FileField {
        guard parts.count == 3 else { throw .fileNotFound }
        return try FileField(
            FieldName(Self.decoded(parts[2])),
            of: RecordID(type: RecordTypeName(Self.decoded(parts[0])), id: Self.decoded(parts[1])),
            in: DatabaseName(database)
        )
    }

    /// Decodes the escapes of a part of a path; throws `108 InvalidArgument`.
    static func decoded(_ part: Substring) throws(SkyrowError) -> String {
        guard let decoded = FormFields.decoded(part.utf8, plusIsSpace: false) else {
            throw .invalidArgument("The path of this address cannot be decoded.")
        }
        return decoded
    }
}

extension SavePrecondition {
    /// The condition of the field `If-Match` on the record of a file: the number of its revision in quotes, or `*`; without the
    /// field, that the record exists.
    ///
    /// Throws `108 InvalidArgument` for another value.
    init(_ headers: HTTPHeaders) throws(SkyrowError) {
        let values = headers["if-match"].map { Substring($0).trimmingSpaces }
        guard let value = values.first, value != "*" || values.count > 1 else {
            self = .exists
            return
        }
        let digits = value.utf8.dropFirst().dropLast()
        guard values.count == 1, value.utf8.count > 2, value.utf8.first == UInt8(ascii: "\""),
            value.utf8.last == UInt8(ascii: "\""), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let revision = Int64(Substring(digits))
        else { throw .invalidArgument("If-Match must be the revision of the record in quotes, or *.") }
        self = .revision(revision)
    }
}
