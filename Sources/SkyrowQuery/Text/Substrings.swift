extension String {
    /// The first text after all that begin with this one, in the order of bytes; nil where there is none.
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
    /// The first bytes after all that begin with these; nil where there are none.
    var endOfPrefix: [UInt8]? {
        guard let last = lastIndex(where: { $0 < .max }) else { return nil }
        var end = Array(self[...last])
        end[last] += 1
        return end
    }
}

extension String {
    /// Whether another text is part of this one, byte by byte.
    func holds(_ part: String) -> Bool {
        let text = Array(utf8)
        let part = Array(part.utf8)
        guard text.count >= part.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
