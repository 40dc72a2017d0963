extension String {
    /// The least text that is greater, in byte order, than all texts with this prefix; nil if no text is.
    var endOfPrefix: String? {
        var scalars = Array(unicodeScalars)
        while let last = scalars.popLast() {
            // There are no scalars between U+D7FF and U+E000.
            let next = last == "\u{D7FF}" ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            return String(String.UnicodeScalarView(scalars))
        }
        return nil
    }
}

extension [UInt8] {
    /// The least bytes that are greater than all that begin with these; nil if no bytes are.
    var endOfPrefix: [UInt8]? {
        guard let last = lastIndex(where: { $0 < .max }) else { return nil }
        var end = Array(self[...last])
        end[last] += 1
        return end
    }
}

extension String {
    /// Whether the text contains another one, byte by byte; false if the budget is exceeded.
    func holds(_ part: String, within budget: inout StepBudget) -> Bool {
        var (text, part) = (self, part)
        return text.withUTF8 { text in
            part.withUTF8 { part in text.holds(part, within: &budget) }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Compared bytes after which steps are taken.
    private static var stride: Int { 64 }

    fileprivate func holds(_ part: UnsafeBufferPointer<UInt8>, within budget: inout StepBudget) -> Bool {
        guard count >= part.count else { return false }
        var compared = 0
        for start in 0...(count - part.count) {
            var length = 0
            while length < part.count, self[start + length] == part[length] { length += 1 }
            if length == part.count { return true }
            compared += length + 1
            if compared >= Self.stride {
                guard budget.take(comparing: compared) else { return false }
                compared = 0
            }
        }
        return false
    }
}
