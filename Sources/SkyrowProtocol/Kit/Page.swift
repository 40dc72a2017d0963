package import SkyrowModel

extension PageRequest {
    package static let form = Form(PageRequest.init(limit:after:), limit(\.limit), after(\.after))

    static func limit<Root>(_ path: any Swift.KeyPath<Root, Int> & Sendable) -> Member<Root, Int> {
        Member(
            "limit",
            path,
            .integer(1...maximumLimit),
            "How many entries at most, \(defaultLimit) unless it is said.",
            absent: defaultLimit
        )
    }

    static func after<Root>(_ path: any Swift.KeyPath<Root, String?> & Sendable) -> Member<Root, String?> {
        Member(optional: "after", path, .string, "The cursor that the part before came with.")
    }
}

extension ResultNarrowing {
    /// Of a list in parts.
    package static let limit = ResultNarrowing(parameters: ["limit"], advice: "send a lower limit.")
}

extension Codec {
    /// A part of a list: `{"roles": [{"name": "editor", …}], "cursor": "editor"}`.
    package static func page<Element: Sendable>(
        _ member: StaticString,
        of element: Codec<Element>
    ) -> Codec where Value == MemberPage<Element> {
        .object(
            Form(
                { MemberPage($0, cursor: $1) },
                Member(member, \.elements, .list(of: element)),
                Member(ifAny: "cursor", \.cursor, .string)
            )
        )
    }
}
