/// Common words in passwords, each with its rank in a list sorted by frequency.
///
/// The lists are read at the first estimate and then take about half a megabyte.
enum PasswordWords {
    /// The best rank of a text in any of the lists, 1 for the most frequent; all texts are in lowercase.
    static let ranks: [String: Int] = {
        var ranks: [String: Int] = [:]
        for list in [passwords, names, english] {
            for (index, word) in list.split(separator: " ").enumerated() {
                ranks[String(word)] = min(ranks[String(word)] ?? .max, index + 1)
            }
        }
        return ranks
    }()

    /// The length of the longest word, in characters.
    static let longest = 16
}
