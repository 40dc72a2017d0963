/// The fields of a request that depend on the copy of a file that a client has (RFC 9110, 13).
///
/// ```swift
/// let conditions = FileConditions(ifNoneMatch: "\"7b0e2a7c\"", date: HTTPDate.seconds)
/// conditions.isNotModified(tag: "\"7b0e2a7c\"", modifiedAt: 0)   // true: the response is a 304
/// ```
///
/// They are evaluated in the order of RFC 9110, 13.2.2: ``isChanged(tag:modifiedAt:)``, ``isNotModified(tag:modifiedAt:)``, and
/// ``takesRange(tag:modifiedAt:)``.
package struct FileConditions: Hashable, Sendable {
    private enum Tags: Hashable {
        case every
        /// Tags with their quotes, and without the mark of weak ones where that does not count.
        case list([String])
    }

    private enum Range: Hashable {
        case always
        case never
        /// A strong tag with its quotes.
        case tag(String)
        case date(Int64)
    }

    private let match: Tags?
    private let unmodifiedSince: Int64?
    private let noneMatch: Tags?
    private let modifiedSince: Int64?
    private let range: Range

    /// - Parameter date: returns the seconds since 1970 of a date as HTTP has it; nil for any other text.
    package init(
        ifMatch: String? = nil,
        ifUnmodifiedSince: String? = nil,
        ifNoneMatch: String? = nil,
        ifModifiedSince: String? = nil,
        ifRange: String? = nil,
        date: (String) -> Int64?
    ) {
        match = ifMatch.map { Self.tags($0, areStrong: true) }
        // Ignored beside a tag (RFC 9110, 13.1.4).
        unmodifiedSince = ifMatch == nil ? ifUnmodifiedSince.flatMap(date) : nil
        noneMatch = ifNoneMatch.map { Self.tags($0, areStrong: false) }
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

    /// Whether the file is another one than the client expects, so that the response is a 412.
    ///
    /// - Parameters:
    ///   - tag: the strong tag of the file with its quotes, as the field `ETag` has it.
    ///   - modifiedAt: seconds since 1970, as the field `Last-Modified` has them.
    package func isChanged(tag: String, modifiedAt: Int64) -> Bool {
        switch match {
        case .every?: false
        case .list(let tags)?: !tags.contains(tag)
        case nil: unmodifiedSince.map { modifiedAt > $0 } ?? false
        }
    }

    /// Whether the client has the file already, so that the response to its `GET` or `HEAD` is a 304.
    ///
    /// The parameters are those of ``isChanged(tag:modifiedAt:)``.
    package func isNotModified(tag: String, modifiedAt: Int64) -> Bool {
        switch noneMatch {
        case .every?: true
        case .list(let tags)?: tags.contains(tag)
        case nil: modifiedSince.map { modifiedAt <= $0 } ?? false
        }
    }

    /// Whether the range of the request is sent; if not, the whole file is.
    ///
    /// The parameters are those of ``isChanged(tag:modifiedAt:)``.
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
    ///
    /// - Parameter areStrong: whether weak tags are left out, since they match nothing (RFC 9110, 8.8.3.2).
    private static func tags(_ text: String, areStrong: Bool) -> Tags {
        var rest = Substring(text).trimmingSpaces.utf8
        if rest.elementsEqual("*".utf8) { return .every }
        let quote = UInt8(ascii: "\"")
        var tags: [String] = []
        while true {
            rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            // A tag may contain commas, and no quotes.
            guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else { return .list(tags) }
            if !isWeak || !areStrong { tags.append(String(Substring(rest[...end]))) }
            rest = rest[end...].dropFirst()
        }
    }
}
