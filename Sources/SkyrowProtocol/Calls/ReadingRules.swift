/// How an endpoint reads requests, where the two protocols differ (Documentation/Protocol/skygear-v1.md).
///
/// The v1 endpoint translates with these; what it hands on has the same form as a call of JSON-RPC.
package struct ReadingRules: Hashable, Sendable {
    /// The value of a field that is a JSON integer is read as a number, as far as a double holds it exactly.
    package let integersAreNumbers: Bool
    /// `"predicate": []` is no predicate.
    package let emptyPredicateIsNone: Bool
    /// An `include` of a field that is no reference yields null.
    package let includeWithoutReferenceIsNull: Bool
    /// A query without a limit, or with one beyond the maximum, returns all records or fails; otherwise it is cut.
    package let unlimitedQueries: Bool
    /// The result of a query says more than its records only where the request asks about the page.
    package let describesPagesOnRequest: Bool
    /// Included records may stand beside the records that include them.
    package let takesIncludeTable: Bool
    /// A member of a record whose name is empty is passed over, and an error otherwise.
    package let dropsUnnamedFields: Bool

    /// JSON-RPC.
    package static let rpc = ReadingRules(
        integersAreNumbers: false,
        emptyPredicateIsNone: false,
        includeWithoutReferenceIsNull: false,
        unlimitedQueries: false,
        describesPagesOnRequest: false,
        takesIncludeTable: true,
        dropsUnnamedFields: false
    )

    /// The Skygear v1 envelope, whose clients cannot send `1.0` and send no limit.
    package static let v1 = ReadingRules(
        integersAreNumbers: true,
        emptyPredicateIsNone: true,
        includeWithoutReferenceIsNull: true,
        unlimitedQueries: true,
        describesPagesOnRequest: true,
        takesIncludeTable: false,
        dropsUnnamedFields: true
    )
}
