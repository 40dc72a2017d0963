import SkyrowJSON

/// Splits a script into statements as psql does, to send them one by one.
enum SQLScript {
    /// Returns the statements without separators; nil if only psql can run the script: with psql commands, inline COPY
    /// rows, or unquoted function bodies.
    static func statements(of script: String) -> [String]? {
        guard !script.lowercased().contains("from stdin") else { return nil }
        var scanner = Scanner(bytes: Array(script.utf8))
        return scanner.statements()
    }

    private struct Scanner {
        let bytes: [UInt8]
        private var position = 0
        /// The start of the statement; nil before its first word.
        private var start: Int?

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func statements() -> [String]? {
            var statements: [String] = []
            var depth = 0
            while position < bytes.count {
                let byte = bytes[position]
                if byte == UInt8(ascii: ";"), depth <= 0 {
                    if let start { statements.append(text(from: start)) }
                    start = nil
                    depth = 0
                    position += 1
                    continue
                }
                if skipBlank() { continue }
                if start == nil { start = position }
                switch byte {
                case UInt8(ascii: "\\"): return nil
                case UInt8(ascii: "'"): skipQuoted(by: byte, escapes: false)
                case UInt8(ascii: "\""): skipQuoted(by: byte, escapes: false)
                case UInt8(ascii: "$"): skipDollarQuoted()
                case UInt8(ascii: "("):
                    depth += 1
                    position += 1
                case UInt8(ascii: ")"):
                    depth -= 1
                    position += 1
                case _ where Self.isWord(byte):
                    guard skipWord() != "atomic" else { return nil }
                default: position += 1
                }
            }
            if let start { statements.append(text(from: start)) }
            return statements
        }

        private func text(from start: Int) -> String {
            String(decoding: bytes[start..<position], as: UTF8.self)
        }

        private func begins(_ prefix: String) -> Bool {
            bytes[position...].starts(with: prefix.utf8)
        }

        /// Skips white space or a comment, and returns whether there was one.
        private mutating func skipBlank() -> Bool {
            if bytes[position] <= UInt8(ascii: " ") {
                position += 1
            } else if begins("--") {
                position = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            } else if begins("/*") {
                var depth = 0
                repeat {
                    if begins("/*") {
                        depth += 1
                        position += 2
                    } else if begins("*/") {
                        depth -= 1
                        position += 2
                    } else {
                        position += 1
                    }
                } while depth > 0 && position < bytes.count
            } else {
                return false
            }
            return true
        }

        /// Skips quoted text. A doubled quote reads as the end of one text and the start of the next.
        private mutating func skipQuoted(by quote: UInt8, escapes: Bool) {
            position += 1
            while position < bytes.count, bytes[position] != quote {
                position += escapes && bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            position = min(position + 1, bytes.count)
        }

        private mutating func skipDollarQuoted() {
            var end = position + 1
            while end < bytes.count, Self.isWord(bytes[end]) { end += 1 }
            let isParameter = end > position + 1 && isDigit(bytes[position + 1])
            guard end < bytes.count, bytes[end] == UInt8(ascii: "$"), !isParameter else {
                position += 1
                return
            }
            let tag = bytes[position...end]
            position = end + 1
            while position < bytes.count, !bytes[position...].starts(with: tag) { position += 1 }
            position = min(position + tag.count, bytes.count)
        }

        /// Skips an identifier, a keyword, a number, or a string with escapes, and returns it in lower case.
        private mutating func skipWord() -> String {
            let first = position
            while position < bytes.count, Self.isWord(bytes[position]) || bytes[position] == UInt8(ascii: "$") {
                position += 1
            }
            let word = String(decoding: bytes[first..<position], as: UTF8.self).lowercased()
            if word == "e", position < bytes.count, bytes[position] == UInt8(ascii: "'") {
                skipQuoted(by: UInt8(ascii: "'"), escapes: true)
            }
            return word
        }

        private static func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
                0x80...:
                true
            default: isDigit(byte)
            }
        }
    }
}
