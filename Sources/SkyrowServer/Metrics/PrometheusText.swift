/// The text format (version 0.0.4) of Prometheus and compatible systems.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
enum PrometheusText {
    /// Returns the text of the families, each after its help and type. Families without series are omitted.
    ///
    /// - Parameter help: The help texts by metric name.
    static func text(_ families: [MetricFamily], help: [String: String] = [:]) -> String {
        var text = ""
        for family in families where !family.series.isEmpty {
            if let help = help[family.name] { text += "# HELP \(family.name) \(escapedHelp(help))\n" }
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for series in family.series { append(series, of: family.name, to: &text) }
        }
        return text
    }

    private static func append(_ series: MetricSeries, of name: String, to text: inout String) {
        switch series.value {
        case .integer(let value):
            appendLine(name, series.labels, "\(value)", to: &text)
        case .number(let value):
            appendLine(name, series.labels, number(value), to: &text)
        case .histogram(let distribution):
            var count = 0
            for (index, bound) in (distribution.bounds + [.infinity]).enumerated() {
                // Prometheus buckets are cumulative.
                count += distribution.counts[index]
                let labels = series.labels + [MetricLabel(name: "le", value: number(bound))]
                appendLine(name + "_bucket", labels, "\(count)", to: &text)
            }
            appendLine(name + "_sum", series.labels, number(distribution.sum), to: &text)
            appendLine(name + "_count", series.labels, "\(count)", to: &text)
        }
    }

    private static func appendLine(_ name: String, _ labels: [MetricLabel], _ value: String, to text: inout String) {
        text += name
        if !labels.isEmpty {
            text += "{"
            text += labels.map { "\($0.name)=\"\(escapedLabel($0.value))\"" }.joined(separator: ",")
            text += "}"
        }
        text += " \(value)\n"
    }

    /// Returns a number in Go's syntax, which the format requires.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // Integers have no fraction: `1`, not `1.0`.
        if value.magnitude < 1e15, value == value.rounded() { return "\(Int64(value))" }
        return "\(value)"
    }

    private static func escapedHelp(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    private static func escapedLabel(_ text: String) -> String {
        escapedHelp(text).replacing("\"", with: "\\\"")
    }

    /// Returns the name with `_` for characters that metric and label names may not contain.
    static func name(_ text: String, allowsColon: Bool) -> String {
        let name = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    let isAllowed =
                        scalar.isASCII
                        && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_"
                            || (allowsColon && scalar == ":"))
                    return isAllowed ? scalar : "_"
                }
            )
        )
        guard let first = name.unicodeScalars.first else { return "_" }
        return first.properties.numericType == nil ? name : "_" + name
    }
}
