/// The pages of Documentation/Protocol/, and their examples in the order in which they run.
///
/// All examples share one service, and later ones use the accounts and records of earlier ones: ``names`` has the order in
/// which the pages run.
struct ProtocolManual {
    /// A page of the manual, without its ending `.md`.
    struct Page: Sendable {
        var name: String
        var text: String
    }

    /// The pages in the order of their examples.
    static let names = [
        "envelopes", "errors", "accounts", "sessions", "codes-and-mail", "providers", "values", "records", "access",
        "queries", "predicates", "changes", "schema", "indexes", "roles-and-groups", "relations", "keys", "files",
        "functions", "function-servers", "skygear-v1", "live",
    ]

    struct Example: Sendable {
        /// The page and the line on which the request begins, `records.md:12`.
        var place: String
        /// `none`, `key`, `master`, or a name whose `<name-token>` an earlier response gave.
        var caller: String
        var path: String
        /// Whether it goes over a WebSocket, the one of the examples before it.
        var isMessage = false
        var request: String
        var status: Int
        /// Empty where the response has no body.
        var response: String
    }

    enum Fault: Error, CustomStringConvertible {
        case requestWithoutResponse(at: String)
        case responseWithoutRequest(at: String)
        case unknownWord(String, at: String)

        var description: String {
            switch self {
            case .requestWithoutResponse(let place): "\(place): a request without a response after it"
            case .responseWithoutRequest(let place): "\(place): a response without a request before it"
            case .unknownWord(let word, let place): "\(place): '\(word)' is neither a caller nor a path nor a status"
            }
        }
    }

    /// The index, `README.md`.
    var index: String
    var pages: [Page]
    var examples: [Example]

    /// The text of all pages, without the index.
    var text: String { pages.map(\.text).joined(separator: "\n") }

    init() throws {
        index = try documentation("Protocol/README.md")
        pages = try Self.names.map { Page(name: $0, text: try documentation("Protocol/\($0).md")) }
        examples = try pages.flatMap(Self.examples(of:))
    }

    private static func examples(of page: Page) throws -> [Example] {
        var examples: [Example] = []
        var waiting: Example?
        for block in MarkdownBlock.all(of: page.text) where block.language == "json" {
            let place = "\(page.name).md:\(block.line)"
            switch block.words.first {
            case "request":
                if let waiting { throw Fault.requestWithoutResponse(at: waiting.place) }
                var example = Example(
                    place: place,
                    caller: "key",
                    path: "/rpc",
                    request: block.text,
                    status: 200,
                    response: ""
                )
                for word in block.words.dropFirst() {
                    switch word {
                    case "socket": example.isMessage = true
                    case _ where word.hasPrefix("/"): example.path = word
                    default: example.caller = word
                    }
                }
                waiting = example
            case "response":
                guard var example = waiting else { throw Fault.responseWithoutRequest(at: place) }
                waiting = nil
                example.response = block.text
                for word in block.words.dropFirst() {
                    guard let status = Int(word) else { throw Fault.unknownWord(word, at: place) }
                    example.status = status
                }
                examples.append(example)
            default:
                break
            }
        }
        if let waiting { throw Fault.requestWithoutResponse(at: waiting.place) }
        return examples
    }
}
