/// Returns rows of single-line cells as lines with aligned columns, two spaces apart.
func textTable(_ rows: [[String]]) -> String {
    let rows = rows.map { $0.map { printable($0, keepingLines: false) } }
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { place in rows.map { place < $0.count ? $0[place].count : 0 }.max() ?? 0 }
    return rows.map { row in
        let padded = zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
        var line = padded.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }.joined(separator: "\n")
}
