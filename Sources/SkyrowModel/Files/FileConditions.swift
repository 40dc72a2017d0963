/// The fields of a request that depend on the copy of a file that a client has (RFC 9110, 13).
///
/// ```swift
/// let conditions = FileConditions(
///     ifNoneMatch: "\"7b0e2a7c\"", ifModifiedSince: nil, ifRange: nil, date: HTTPDate.seconds
/// )
/// conditions.isNotModified(tag: "\"7b0e2a7c\"", modifiedAt: 0)   // true: the response is a 304
/// ```
package struct FileConditions: Hashable, Sendable {
    private enum Tags: Hashable {
        case every
        /// Tags with their quotes, and without the mark of weak ones, since that does not count here.
        case list([String])
    }

    private enum Range: Hashable {
        case always
        case never
        /// A strong tag with its quotes.
        case tag(String)
        case date(Int64)
    }

    private let noneMatch: Tags?
    private let modifiedSince: Int64?
    private let range: Range

    /// - Parameter date: returns the seconds since 1970 of a date as HTTP has it; nil for any other text.
    package init(ifNoneMatch: String?, ifModifiedSince: String?, ifRange: String?, date: (String) -> Int64?) {
        noneMatch = ifNoneMatch.map(Self.tags)
        // Ignored beside a tag, which is more exact (RFC 9110, 13.1.3).
        modifiedSince = ifNoneMatch == nil ? ifModifiedSince.flatMap(date) : nil
        guard let ifRange else {
            range = .always
            return
        }
        let validator = Substring(ifRange).trimmingSpaces
        if validator.utf8.first == UInt8(ascii: "\"") {
            range = .tag(String(validator))
        } else {
            // A weak tag is no date, and never matches.
            range = date(String(validator)).map { .date($0) } ?? .never
        }
    }

    /// Whether the client has the file already, so that the response to its `GET` or `HEAD` is a 304.
    ///
    /// - Parameters:
    ///   - tag: the strong tag of the file with its quotes, as the field `ETag` has it.
    ///   - modifiedAt: seconds since 1970, as the field `Last-Modified` has them.
    package func isNotModified(tag: String, modifiedAt: Int64) -> Bool {
        switch noneMatch {
        case .every?: true
        case .list(let tags)?: tags.contains(tag)
        case nil: modifiedSince.map { modifiedAt <= $0 } ?? false
        }
    }

    /// Whether the range of the request is sent; if not, the whole file is.
    ///
    /// The parameters are those of ``isNotModified(tag:modifiedAt:)``.
    package func takesRange(tag: String, modifiedAt: Int64) -> Bool {
        switch range {
        case .always: true
        case .never: false
        case .tag(let given): given == tag
        // The bytes under a name never change, so a date is as strong as a tag.
        case .date(let date): date == modifiedAt
        }
    }

    /// Parses a list of tags up to the first fault.
    private static func tags(_ text: String) -> Tags {
        var rest = Substring(text).trimmingSpaces.utf8
        if rest.elementsEqual("*".utf8) { return .every }
        let quote = UInt8(ascii: "\"")
        var tags: [String] = []
        while true {
            rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            if rest.starts(with: "W/".utf8) { rest = rest.dropFirst(2) }
            // A tag may contain commas, and no quotes.
            guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else { return .list(tags) }
            tags.append(String(Substring(rest[...end])))
            rest = rest[end...].dropFirst()
        }
    }
}
