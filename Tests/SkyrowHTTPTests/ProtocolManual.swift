/// The examples of Documentation/Protocol.md in their order.
struct ProtocolManual {
    struct Example: Sendable {
        /// The line of the manual on which the request begins.
        var line: Int
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
        case requestWithoutResponse(line: Int)
        case responseWithoutRequest(line: Int)
        case unknownWord(String, line: Int)

        var description: String {
            switch self {
            case .requestWithoutResponse(let line): "Protocol.md:\(line): a request without a response after it"
            case .responseWithoutRequest(let line): "Protocol.md:\(line): a response without a request before it"
            case .unknownWord(let word, let line):
                "Protocol.md:\(line): '\(word)' is neither a caller nor a path nor a status"
            }
        }
    }

    var text: String
    var examples: [Example]

    init() throws {
        try self.init(text: documentation("Protocol.md"))
    }

    init(text: String) throws {
        self.text = text
        examples = []
        var waiting: Example?
        for block in MarkdownBlock.all(of: text) where block.language == "json" {
            switch block.words.first {
            case "request":
                if let waiting { throw Fault.requestWithoutResponse(line: waiting.line) }
                var example = Example(
                    line: block.line,
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
                guard var example = waiting else { throw Fault.responseWithoutRequest(line: block.line) }
                waiting = nil
                example.response = block.text
                for word in block.words.dropFirst() {
                    guard let status = Int(word) else { throw Fault.unknownWord(word, line: block.line) }
                    example.status = status
                }
                examples.append(example)
            default:
                break
            }
        }
        if let waiting { throw Fault.requestWithoutResponse(line: waiting.line) }
    }
}
