/// Splits a text into words as the SQL function `_words` does: case-folded, separated by all but letters and digits.
///
/// The separators are a list of ranges and not a Unicode property, so that all Unicode versions, here and in the database, find
/// the same words.
package enum Words {
    /// Upper bounds on a text's characters and words, and on a word's length.
    static let maximumCharacters = 250_000
    static let maximumCount = 30_000
    static let maximumLength = 255

    /// Returns the words in their order.
    static func words(of text: String) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        var length = 0
        func end() {
            if length > 0, words.count < maximumCount { words.append(String(word)) }
            word = String.UnicodeScalarView()
            length = 0
        }
        for scalar in TextFolding.fold(text).unicodeScalars.prefix(maximumCharacters) {
            if isSeparator(scalar) {
                end()
            } else {
                if length < maximumLength { word.append(scalar) }
                length += 1
            }
        }
        end()
        return words
    }

    /// Whether a character separates words: ASCII except letters and digits, Latin-1 symbols, and two blocks of punctuation.
    package static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: false
        case 0...0xBF, 0x2000...0x206F, 0x3000...0x303F: true
        default: false
        }
    }
}
