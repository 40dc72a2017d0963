package import SkyrowModel

extension PageRequest {
    package static let form = Form(
        PageRequest.init(limit:after:),
        Member(
            "limit",
            \.limit,
            .integer(1...maximumLimit),
            "The number of entries; \(defaultLimit) by default.",
            absent: defaultLimit
        ),
        Member(optional: "after", \.after, .string, "The `cursor` of the previous page.")
    )
}

extension ResultNarrowing {
    /// Of a list in parts.
    package static let limit = ResultNarrowing(parameters: ["limit"], advice: "send a lower limit.")
}

extension Codec {
    /// A part of a list: `{"roles": [{"name": "editor", …}], "cursor": "editor"}`.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func page<Element: Sendable>(
        _ member: StaticString,
        of element: Codec<Element>
    ) -> Codec where Value == MemberPage<Element> {
        .object(
            Form(
                { MemberPage($0, cursor: $1) },
                Member(member, \.elements, .list(of: element)),
                Member(ifAny: "cursor", \.cursor, .string, "`after` of the next page; absent on the last one.")
            )
        )
    }
}
