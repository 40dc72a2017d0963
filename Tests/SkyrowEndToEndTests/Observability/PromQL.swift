import Foundation

/// The metrics and labels that a query names, as far as a test has to know.
struct PromQL: Hashable {
    /// Every metric, with the labels of the braces behind it.
    private(set) var metrics: [Selector] = []
    /// The labels of `by (…)` and `without (…)`.
    private(set) var groupings: Set<String> = []

    struct Selector: Hashable {
        var metric: String
        var labels: Set<String>
    }

    private static let keywords: Set<String> = [
        "and", "or", "unless", "bool", "offset", "ignoring", "on", "group_left", "group_right", "inf", "nan",
    ]

    init(_ query: String) {
        var rest = Substring(query)
        while let first = rest.first {
            if first == "\"" {
                rest = PromQL.afterString(rest)
            } else if first == "[" {
                rest = rest.drop { $0 != "]" }
            } else if first.isLetter || first == "_" || first == ":" {
                let word = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == ":" })
                rest = rest.dropFirst(word.count)
                let next = rest.drop { $0.isWhitespace }
                let isAggregation = ["by", "without"].contains(next.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
                if word == "by" || word == "without" {
                    let inside = next.dropFirst().prefix { $0 != ")" }
                    groupings.formUnion(inside.split { $0 == "," || $0.isWhitespace }.map(String.init))
                    rest = next.drop { $0 != ")" }
                } else if next.first == "(" || isAggregation || PromQL.keywords.contains(word.lowercased()) {
                    continue
                } else if next.first == "{" {
                    let (labels, after) = PromQL.labels(next.dropFirst())
                    metrics.append(Selector(metric: word, labels: labels))
                    rest = after
                } else {
                    metrics.append(Selector(metric: word, labels: []))
                }
            } else if first == "$" {
                rest = rest.dropFirst().drop { $0.isLetter || $0.isNumber || $0 == "_" }
            } else if first.isNumber {
                rest = rest.drop { $0.isNumber || $0.isLetter || $0 == "." }
            } else {
                rest = rest.dropFirst()
            }
        }
    }

    /// The names before the comparisons, up to the closing brace.
    private static func labels(_ text: Substring) -> (Set<String>, rest: Substring) {
        var labels: Set<String> = []
        var rest = text
        while let first = rest.first, first != "}" {
            if first == "\"" {
                rest = afterString(rest)
            } else if first.isLetter || first == "_" {
                let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                labels.insert(String(name))
                rest = rest.dropFirst(name.count)
            } else {
                rest = rest.dropFirst()
            }
        }
        return (labels, rest.dropFirst())
    }

    private static func afterString(_ text: Substring) -> Substring {
        var rest = text.dropFirst()
        while let first = rest.popFirst(), first != "\"" {
            if first == "\\" { rest = rest.dropFirst() }
        }
        return rest
    }
}
