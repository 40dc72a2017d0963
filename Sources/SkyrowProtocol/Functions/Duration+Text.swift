extension Duration {
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
        ("m", 60_000_000_000), ("h", 3_600_000_000_000),
    ]

    /// Reads a duration as Go writes it: numbers with units, such as `1m30s`, `90.0s` or `500ms`.
    ///
    /// Returns nil for any other text, for a negative duration, and for more than 292 years.
    init?(goText text: String) {
        var rest = text.utf8[...]
        var total: Int64 = 0
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        guard !rest.isEmpty, rest.count <= 64 else { return nil }
        while !rest.isEmpty {
            let whole = rest.prefix(while: isDigit)
            rest = rest.dropFirst(whole.count)
            var fraction = rest.prefix(0)
            if rest.first == UInt8(ascii: ".") {
                fraction = rest.dropFirst().prefix(while: isDigit)
                rest = rest.dropFirst(1 + fraction.count)
            }
            guard !whole.isEmpty || !fraction.isEmpty else { return nil }
            let name = rest.prefix { !isDigit($0) && $0 != UInt8(ascii: ".") }
            rest = rest.dropFirst(name.count)
            guard let unit = Self.units.first(where: { name.elementsEqual($0.name.utf8) })?.nanoseconds else {
                return nil
            }
            var value: Int64 = 0
            for digit in whole {
                let (tenfold, overflows) = value.multipliedReportingOverflow(by: 10)
                let (sum, overflowsToo) = tenfold.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
                if overflows || overflowsToo { return nil }
                value = sum
            }
            let (product, overflows) = value.multipliedReportingOverflow(by: unit)
            var part = unit
            var below: Int64 = 0
            for digit in fraction {
                part /= 10
                below += Int64(digit - UInt8(ascii: "0")) * part
            }
            let (sum, overflowsToo) = total.addingReportingOverflow(product)
            let (next, overflowsThen) = sum.addingReportingOverflow(below)
            if overflows || overflowsToo || overflowsThen { return nil }
            total = next
        }
        self = .nanoseconds(total)
    }

    /// The duration in whole nanoseconds, in the form that ``init(goText:)`` reads.
    var goText: String {
        let (seconds, attoseconds) = components
        return "\(seconds)s\(attoseconds / 1_000_000_000)ns"
    }
}
