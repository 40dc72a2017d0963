/// A value of a log line.
package enum LogValue: Hashable, Sendable, Decodable, ExpressibleByStringLiteral {
    case text(String)
    case number(Int)

    package init(stringLiteral text: String) {
        self = .text(text)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = try (try? container.decode(Int.self)).map { .number($0) } ?? .text(container.decode(String.self))
    }

    package var text: String? {
        switch self {
        case .text(let text): text
        case .number: nil
        }
    }

    package var number: Int? {
        switch self {
        case .text: nil
        case .number(let number): number
        }
    }
}
