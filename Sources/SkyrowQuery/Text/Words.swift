/// The words of a text, as the SQL function `_words` has them: in lower case, parted by all that is neither letter nor digit.
///
/// Which characters part words is a list of ranges and not a property of Unicode, so that every version of it, here and in
/// the database, has the same words.
package enum Words {
    /// How much of a text is looked at, and of a word.
    static let maximumCharacters = 250_000
    static let maximumCount = 30_000
    static let maximumLength = 255

    /// The words in their order.
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

    /// Whether a character parts words: ASCII but letters and digits, the signs of Latin-1, and two blocks of punctuation.
    package static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: false
        case 0...0xBF, 0x2000...0x206F, 0x3000...0x303F: true
        default: false
        }
    }
}
