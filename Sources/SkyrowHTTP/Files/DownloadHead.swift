import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel

/// What a request for a file gets, decided by its head and the file's row.
struct DownloadHead: Sendable {
    /// The bytes that are sent.
    enum Selection: Hashable, Sendable {
        case whole
        case part(Range<Int>)
        /// None, since the file is not the one that the client expects (412).
        case changed
        /// None, since the client has the file (304).
        case unchanged
        /// None, since the file is shorter (416).
        case unsatisfiable
    }

    let selection: Selection
    private let tag: String
    private let modifiedAt: Int64?
    private let size: Int

    /// - Parameters:
    ///   - thumbnail: the size of the thumbnail that is sent; nil for the file itself.
    ///   - size: the bytes of what is sent.
    init(_ head: HTTPRequestHead, for asset: StoredAsset, _ thumbnail: ThumbnailSize? = nil, size: Int) {
        self.size = size
        // A name is written once, so it also identifies the content.
        tag = thumbnail.map { "\"\(asset.name.id)-\($0)\"" } ?? asset.name.tag
        modifiedAt = asset.storedAt.flatMap(\.secondsSince1970)
        let conditions = FileConditions(
            ifMatch: head.field("if-match"),
            ifUnmodifiedSince: head.field("if-unmodified-since"),
            ifNoneMatch: head.field("if-none-match"),
            ifModifiedSince: head.field("if-modified-since"),
            ifRange: head.field("if-range"),
            date: HTTPDate.seconds
        )
        let modifiedAt = modifiedAt ?? 0
        if conditions.isChanged(tag: tag, modifiedAt: modifiedAt) {
            selection = .changed
        } else if conditions.isNotModified(tag: tag, modifiedAt: modifiedAt) {
            selection = .unchanged
        } else if head.method == .GET, conditions.takesRange(tag: tag, modifiedAt: modifiedAt) {
            // Ranges are defined for GET alone (RFC 9110, 14.2).
            selection =
                switch FileRange.parse(head.field("range"), size: Int64(size)) {
                case .whole: .whole
                case .part(let range): .part(Int(range.lowerBound)..<Int(range.upperBound))
                case .unsatisfiable: .unsatisfiable
                }
        } else {
            selection = .whole
        }
    }

    var status: HTTPResponseStatus {
        switch selection {
        case .whole: .ok
        case .part: .partialContent
        case .changed: .preconditionFailed
        case .unchanged: .notModified
        case .unsatisfiable: .rangeNotSatisfiable
        }
    }

    /// The fields of every one of these responses, by which a client can ask for the file again or for a part of it.
    var fields: [HTTPField] {
        var fields = [HTTPField("accept-ranges", "bytes"), HTTPField("etag", tag)]
        if let modifiedAt {
            fields.append(HTTPField("last-modified", HTTPDate.text(second: Int(modifiedAt))))
        }
        switch selection {
        case .part(let range):
            fields.append(HTTPField("content-range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"))
        case .unsatisfiable:
            fields.append(HTTPField("content-range", "bytes */\(size)"))
        case .whole, .changed, .unchanged:
            break
        }
        return fields
    }

    /// The fields of a response with the file, after which a browser neither runs it nor lets it load anything.
    static func fields(of served: ServedFile) -> [HTTPField] {
        [
            HTTPField("content-disposition", served.disposition),
            HTTPField("content-security-policy", ServedFile.policy),
            HTTPField("cross-origin-resource-policy", "cross-origin"),
        ]
    }
}

extension Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z; nil for a time that is not finite or too far away.
    fileprivate var secondsSince1970: Int64? {
        let (microseconds, overflow) = microseconds.addingReportingOverflow(Timestamp.unixEpochOffset)
        return overflow || self == .negativeInfinity ? nil : microseconds / 1_000_000
    }
}

extension DownloadCache {
    /// The value of `Cache-Control`.
    var control: String {
        switch self {
        case .privately(let seconds): "private, max-age=\(seconds)"
        case .publicly(let seconds): "public, max-age=\(seconds)"
        }
    }
}

extension HTTPRequestHead {
    /// The value of a field; nil without one. Several lines count as a list.
    fileprivate func field(_ name: String) -> String? {
        let values = headers[name]
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
