import SkyrowModel
import Testing

/// Conditional requests of RFC 9110, 13.
@Suite struct FileConditionsTests {
    private static let tag = "\"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef\""
    private static let modifiedAt: Int64 = 1000

    /// Dates of these tests are seconds.
    private static func conditions(
        match: String? = nil,
        unmodifiedSince: String? = nil,
        noneMatch: String? = nil,
        modifiedSince: String? = nil,
        range: String? = nil
    ) -> FileConditions {
        FileConditions(
            ifMatch: match,
            ifUnmodifiedSince: unmodifiedSince,
            ifNoneMatch: noneMatch,
            ifModifiedSince: modifiedSince,
            ifRange: range,
            date: { Int64($0) }
        )
    }

    private static let matches: [(String, Bool)] = [
        (tag, false), ("*", false), (" * ", false), ("\"a\", " + tag, false), (tag + ", \"a\"", false),
        ("W/\"a\",, " + tag, false), ("\"a,b\"," + tag, false),
        // Weak tags match nothing, not even themselves.
        ("W/" + tag, true), ("\"a\", W/" + tag, true), ("\"a\"", true), ("", true), ("\"*\"", true),
        (String(tag.dropFirst().dropLast()), true), (String(tag.dropLast()), true), ("a, " + tag, true),
        (tag.uppercased(), true),
    ]

    @Test(arguments: matches)
    func aFileIsTheExpectedOneByItsTag(field: String, isChanged: Bool) {
        let conditions = Self.conditions(match: field)
        #expect(conditions.isChanged(tag: Self.tag, modifiedAt: Self.modifiedAt) == isChanged)
        #expect(!conditions.isNotModified(tag: Self.tag, modifiedAt: Self.modifiedAt))
        for date in ["0", "1000", "2000"] {
            let both = Self.conditions(match: field, unmodifiedSince: date)
            #expect(both.isChanged(tag: Self.tag, modifiedAt: Self.modifiedAt) == isChanged)
        }
    }

    private static let expectedDates: [(String?, Bool)] = [
        (nil, false), ("999", true), ("1000", false), ("1001", false), ("yesterday", false), ("", false),
    ]

    @Test(arguments: expectedDates)
    func aFileIsTheExpectedOneByItsDate(field: String?, isChanged: Bool) {
        let conditions = Self.conditions(unmodifiedSince: field)
        #expect(conditions.isChanged(tag: Self.tag, modifiedAt: Self.modifiedAt) == isChanged)
    }

    private static let noneMatches: [(String, Bool)] = [
        (tag, true), ("W/" + tag, true), ("*", true), (" * ", true), ("\"a\", " + tag, true), (tag + ", \"a\"", true),
        ("\"a\",\"b\",W/" + tag, true), (", ,\t" + tag + ",", true), ("\"a,b\", " + tag, true), ("\"\", " + tag, true),
        ("\"W/\"," + tag, true),
        ("\"a\"", false), ("W/\"a\"", false), ("", false), (",", false), ("\"*\"", false), ("**", false),
        ("*, \"a\"", false),
        // Without quotes, with one, with a part of the tag, and behind a fault
        (String(tag.dropFirst().dropLast()), false), (String(tag.dropLast()), false), (String(tag.dropFirst()), false),
        ("\"7b0e2a7c\"", false), ("w/" + tag, false), ("W/", false), ("a, " + tag, false), ("\"\(tag)\"", false),
        (tag.uppercased(), false),
    ]

    @Test(arguments: noneMatches)
    func aTagOfTheListIsTheCopyOfTheClient(field: String, isNotModified: Bool) {
        let conditions = Self.conditions(noneMatch: field)
        #expect(conditions.isNotModified(tag: Self.tag, modifiedAt: Self.modifiedAt) == isNotModified)
        // The date does not count beside a tag, even beside a malformed one.
        for date in ["0", "1000", "2000"] {
            let both = Self.conditions(noneMatch: field, modifiedSince: date)
            #expect(both.isNotModified(tag: Self.tag, modifiedAt: Self.modifiedAt) == isNotModified)
        }
    }

    private static let dates: [(String?, Bool)] = [
        (nil, false), ("999", false), ("1000", true), ("1001", true), ("yesterday", false), ("", false),
    ]

    @Test(arguments: dates)
    func aFileIsNotModifiedSinceItsDate(field: String?, isNotModified: Bool) {
        let conditions = Self.conditions(modifiedSince: field)
        #expect(conditions.isNotModified(tag: Self.tag, modifiedAt: Self.modifiedAt) == isNotModified)
    }

    private static let ranges: [(String?, Bool)] = [
        (nil, true), (tag, true), (" " + tag + " ", true), ("1000", true), (" 1000", true),
        // Weak tags, other tags, lists, and other dates
        ("W/" + tag, false), ("\"a\"", false), (tag + ", " + tag, false), ("*", false), ("999", false), ("1001", false),
        ("", false), ("yesterday", false), ("\"", false), (String(tag.dropFirst().dropLast()), false),
    ]

    @Test(arguments: ranges)
    func aRangeIsSentOfTheFileThatTheClientHas(field: String?, takesRange: Bool) {
        let conditions = Self.conditions(range: field)
        #expect(conditions.takesRange(tag: Self.tag, modifiedAt: Self.modifiedAt) == takesRange)
        #expect(!conditions.isNotModified(tag: Self.tag, modifiedAt: Self.modifiedAt))
    }
}
