import Foundation
import Testing

/// A page of metrics, read as strictly as the format's description allows
/// (https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4).
struct ScrapedMetrics {
    struct Family {
        var kind: String?
        var help: String?
        /// The labels of its series, `le` of a histogram's buckets not among them.
        var labels: Set<String> = []
        fileprivate var samples: [Sample] = []
    }

    fileprivate struct Sample {
        var name: String
        var labels: [String: String]
        var value: Double
    }

    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var families: [String: Family] = [:]
    /// The values by the text before them.
    private(set) var values: [String: Double] = [:]
    /// The family whose lines are being read; one that was left has no more lines.
    private var current = ""

    init(_ page: String) throws {
        guard page.hasSuffix("\n") else { throw Fault(description: "The last line has no end.") }
        for line in page.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("# ") {
                try note(line)
            } else {
                try sample(line)
            }
        }
        for (name, family) in families {
            guard !family.samples.isEmpty else { throw Fault(description: "\(name) has no samples.") }
            if family.kind == "histogram" { try checkHistogram(name, family.samples) }
        }
    }

    private mutating func note(_ line: String) throws {
        guard let match = line.wholeMatch(of: /# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)/) else {
            throw Fault(description: line)
        }
        let (name, text) = (String(match.2), String(match.3))
        try enter(name, line)
        // Both stand above the samples, and once.
        guard families[name]?.samples.isEmpty != false else { throw Fault(description: line) }
        if match.1 == "HELP" {
            guard families[name]?.help == nil, families[name]?.kind == nil,
                text.wholeMatch(of: /(?:[^\\]|\\[\\n])*/) != nil
            else { throw Fault(description: line) }
            families[name, default: Family()].help = text
        } else {
            guard families[name]?.kind == nil, ["counter", "gauge", "histogram"].contains(text) else {
                throw Fault(description: line)
            }
            families[name, default: Family()].kind = text
        }
    }

    private mutating func sample(_ line: String) throws {
        guard let match = line.wholeMatch(of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)/),
            let value = ScrapedMetrics.number(String(match.3)),
            values.updateValue(value, forKey: String(line.dropLast(match.3.count + 1))) == nil
        else { throw Fault(description: line) }
        var labels: [String: String] = [:]
        var rest = match.2 ?? ""
        while !rest.isEmpty {
            guard let label = rest.prefixMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,?)/),
                labels.updateValue(String(label.2), forKey: String(label.1)) == nil,
                label.3.isEmpty == (label.range.upperBound == rest.endIndex)
            else { throw Fault(description: line) }
            rest = rest[label.range.upperBound...]
        }
        let name = String(match.1)
        let histogram = ["_bucket", "_sum", "_count"].lazy
            .compactMap { name.hasSuffix($0) ? String(name.dropLast($0.count)) : nil }
            .first { families[$0]?.kind == "histogram" }
        let family = histogram ?? name
        try enter(family, line)
        // Every series stands under the line that says what it is.
        guard let kind = families[family]?.kind, (kind == "histogram") == (histogram != nil),
            kind != "counter" || value >= 0
        else { throw Fault(description: line) }
        families[family]?.labels.formUnion(Set(labels.keys).subtracting(histogram == nil ? [] : ["le"]))
        families[family]?.samples.append(Sample(name: name, labels: labels, value: value))
    }

    private mutating func enter(_ family: String, _ line: String) throws {
        guard family == current || families[family] == nil else {
            throw Fault(description: "This is apart from the others of its family: \(line)")
        }
        current = family
    }

    /// The counts of a histogram grow up to the last, which is that of all its values.
    private func checkHistogram(_ name: String, _ samples: [Sample]) throws {
        let series = Dictionary(grouping: samples) { $0.labels.filter { $0.key != "le" } }
        for (labels, samples) in series {
            let buckets = samples.filter { $0.name == name + "_bucket" }
            let bounds = buckets.compactMap { $0.labels["le"].flatMap(ScrapedMetrics.number) }
            let counts = buckets.map(\.value)
            let count = samples.filter { $0.name == name + "_count" }.map(\.value)
            guard bounds.count == buckets.count, bounds.last == .infinity, bounds == Set(bounds).sorted(),
                counts == counts.sorted(), count == counts.suffix(1),
                samples.count(where: { $0.name == name + "_sum" }) == 1, samples.count == buckets.count + 2
            else { throw Fault(description: "\(name)\(labels) is no histogram.") }
        }
    }

    private static func number(_ text: String) -> Double? {
        switch text {
        case "+Inf": .infinity
        case "-Inf": -.infinity
        case "NaN": .nan
        default: text.wholeMatch(of: /-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?/) == nil ? nil : Double(text)
        }
    }

    /// The family that a name in a query means; nil when there is none.
    func family(of name: String) -> Family? {
        if let family = families[name], family.kind != "histogram" { return family }
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            if let family = families[String(name.dropLast(suffix.count))], family.kind == "histogram" { return family }
        }
        return nil
    }
}

/// The reader above refuses what Prometheus would.
@Suite struct ScrapedMetricsTests {
    private static let histogram = """
        # TYPE h histogram
        h_bucket{le="0.5"} 1
        h_bucket{le="+Inf"} 2
        h_sum 1.5
        h_count 2

        """

    @Test func aPageIsRead() throws {
        let page = try ScrapedMetrics(
            "# HELP c A \\\\ b.\n# TYPE c counter\nc{a=\"x\\\"y\",b=\"\"} 3\n" + Self.histogram
        )
        #expect(page.families["c"]?.labels == ["a", "b"])
        #expect(page.families["h"]?.labels == [])
        #expect(page.values["h_count"] == 2)
    }

    @Test(arguments: [
        "", "\n", "# TYPE c counter\nc 1", "c 1\n", "# TYPE c counter\n", "# TYPE c sum\nc 1\n", "# HELP c x\nc 1\n",
        "# TYPE c counter\n# HELP c x\nc 1\n", "# HELP c \\x\n# TYPE c counter\nc 1\n", "# TYPE c counter\nc -1\n",
        "# TYPE c counter\nc 1\nc 1\n", "# TYPE c counter\nc  1\n", "# TYPE c counter\nc one\n",
        "# TYPE c counter\nc 1 \n",
        "# TYPE c counter\nc{a=\"\\x\"} 1\n", "# TYPE c counter\nc{a=\"1\",} 1\n",
        "# TYPE c counter\nc{a=\"1\"b=\"2\"} 1\n",
        "# TYPE c counter\nc{a=\"1\",a=\"2\"} 1\n", "# TYPE c counter\nc{a-b=\"1\"} 1\n",
        "# TYPE c counter\nc 1\n# TYPE d gauge\nd 1\nc{a=\"1\"} 1\n", "# TYPE h histogram\nh 1\n",
        histogram.replacing("h_count 2", with: "h_count 3"), histogram.replacing("h_sum 1.5\n", with: ""),
        histogram.replacing("\"0.5\"} 1", with: "\"0.5\"} 3"), histogram.replacing("+Inf", with: "1"),
        histogram.replacing("0.5\"", with: "x\""), histogram.replacing("h_bucket{le=\"0.5\"}", with: "h_bucket"),
    ])
    func whatIsNoPageIsRefused(text: String) {
        #expect(throws: ScrapedMetrics.Fault.self) { try ScrapedMetrics(text) }
    }
}
