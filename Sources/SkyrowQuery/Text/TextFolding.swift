/// Case folding of texts, as in the SQL function `_fold`.
///
/// It lowercases each code point, with one form of sigma: `ß` and `ss` differ, and so do the Unicode compositions of an
/// accented letter. A table makes it independent of the standard library's Unicode version and the same on every machine.
package enum TextFolding {
    package static func fold(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isFolded) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\u{130}" {
                result.append("i")
                result.append("\u{307}")
            } else {
                result.append(fold(scalar))
            }
        }
        return String(result)
    }

    /// Every code point that differs from its folded form, with that form.
    package static var changes: [(scalar: Unicode.Scalar, folded: String)] {
        let single = TextFoldingTable.runs.flatMap { run in
            stride(from: run.first, through: run.last, by: Int(run.step)).compactMap { Unicode.Scalar($0) }
        }
        return (single + ["\u{130}"]).sorted().map { ($0, fold(String($0))) }
    }

    /// Whether the code point was part of Unicode when the table was made.
    package static func isKnown(_ codePoint: Int) -> Bool {
        guard let age = UInt32(exactly: codePoint).flatMap({ Unicode.Scalar($0) })?.properties.age else { return false }
        return age.major <= 15
    }

    /// Whether a byte is unchanged by folding; bytes of non-ASCII characters are checked again.
    private static func isFolded(_ byte: UInt8) -> Bool {
        byte < 0x80 && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    private static func fold(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar.value < 0x80 {
            return ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar
        }
        let runs = TextFoldingTable.runs
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].last < scalar.value { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count, runs[low].first <= scalar.value,
            (scalar.value - runs[low].first).isMultiple(of: runs[low].step)
        else { return scalar }
        return Unicode.Scalar(UInt32(Int32(scalar.value) + runs[low].offset)) ?? scalar
    }
}
