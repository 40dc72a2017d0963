import SkyrowJSON
import SkyrowMaintenance
import SkyrowProtocol
import SkyrowStore

/// The doctor's report, as text and JSON.
struct DoctorReport: Sendable {
    /// The results in report order, including skipped checks.
    var lines: [Line] = []

    struct Line: Sendable {
        var name: String
        var title: String
        /// The diagnosis; nil if the check was skipped.
        var diagnosis: DoctorDiagnosis?

        /// `ok`, `hint`, `warning`, `error` or `skipped`
        var state: String { diagnosis.map { $0.severity?.rawValue ?? "ok" } ?? "skipped" }
    }

    /// Makes the report of the checks in order, followed by further diagnoses.
    init(_ checks: [DoctorCheck], _ diagnoses: [DoctorDiagnosis]) {
        lines = checks.map { check in
            Line(name: check.name, title: check.title, diagnosis: diagnoses.first { $0.check == check.name })
        }
        let names = Set(checks.map(\.name))
        lines += diagnoses.filter { !names.contains($0.check) }.map {
            Line(name: $0.check, title: $0.title, diagnosis: $0)
        }
    }

    private var diagnoses: [DoctorDiagnosis] { lines.compactMap(\.diagnosis) }

    /// The highest severity; nil if all is well.
    var severity: DoctorFinding.Severity? { diagnoses.compactMap(\.severity).max() }

    /// 0 if all is well or there are only hints, 1 with warnings, 2 with errors.
    var exitCode: Int32 {
        switch severity {
        case nil, .hint: 0
        case .warning: 1
        case .error: 2
        }
    }

    var text: String {
        let heads = textTable(lines.map { [$0.state, $0.name, $0.title] }).split(separator: "\n").map(String.init)
        var text = ""
        for (line, head) in zip(lines, heads) {
            text += head + "\n"
            for finding in line.diagnosis?.findings ?? [] { text += DoctorReport.text(finding) }
        }
        // Findings end with an empty line already.
        return text + (text.hasSuffix("\n\n") ? "" : "\n") + conclusion
    }

    private static func text(_ finding: DoctorFinding) -> String {
        let sentences = [finding.what, finding.meaning, finding.remedy].flatMap { wrapped($0, width: 100) }
        let lines = sentences.map { "         \($0)" } + finding.commands.map { "             \($0)" }
        return lines.joined(separator: "\n") + "\n\n"
    }

    /// Returns the text in lines of at most `width` characters, broken between words if possible.
    static func wrapped(_ text: String, width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines.count - 1
            if lines[last].isEmpty {
                lines[last] = String(word)
            } else if lines[last].count + 1 + word.count <= width {
                lines[last] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    private var conclusion: String {
        let findings = diagnoses.flatMap(\.findings)
        let skipped = lines.count - diagnoses.count
        let checks = counted(diagnoses.count, "check") + (skipped > 0 ? " run and \(decimal(skipped)) skipped" : "")
        guard !findings.isEmpty else { return "\(checks), no findings." }
        let parts = DoctorFinding.Severity.allCases.reversed().compactMap { severity -> String? in
            let count = findings.count { $0.severity == severity }
            return count > 0 ? counted(count, severity.rawValue) : nil
        }
        return "\(checks): \(parts.joined(separator: ", "))."
    }

    /// ```json
    /// {"state": "warning", "checks": [{"name": "disk", "title": "…", "state": "ok", "findings": []},
    ///   {"name": "clock", "title": "…", "state": "warning", "findings": [
    ///     {"severity": "warning", "what": "…", "meaning": "…", "remedy": "…", "commands": ["$ timedatectl status"]}]}]}
    /// ```
    var json: String {
        jsonObject { writer in
            writer.member("state", severity?.rawValue ?? "ok")
            writer.beginArray("checks")
            for line in lines { DoctorReport.write(line, to: writer) }
            writer.endArray()
        }
    }

    private static func write(_ line: Line, to writer: JSONWriter) {
        writer.beginObject()
        writer.member("name", line.name)
        writer.member("title", line.title)
        writer.member("state", line.state)
        writer.beginArray("findings")
        for finding in line.diagnosis?.findings ?? [] {
            writer.beginObject()
            writer.member("severity", finding.severity.rawValue)
            writer.member("what", finding.what)
            writer.member("meaning", finding.meaning)
            writer.member("remedy", finding.remedy)
            writer.member("commands", finding.commands)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
