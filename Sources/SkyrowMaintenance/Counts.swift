/// A count with commas as thousands separators: `58,788`.
package func decimal(_ count: Int) -> String {
    let digits = Array(String(abs(count)))
    var text = count < 0 ? "-" : ""
    for (place, digit) in digits.enumerated() {
        if place > 0, (digits.count - place) % 3 == 0 { text.append(",") }
        text.append(digit)
    }
    return text
}

extension Duration {
    package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    /// `1.9 s`
    package var inTenths: String {
        let tenths = Int((inSeconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
