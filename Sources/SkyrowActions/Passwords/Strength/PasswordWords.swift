/// The words that a password is compared with, each with its rank in a list that is sorted by how often they are used.
///
/// They are read when the strength of a password is first estimated, and take about half a megabyte then.
enum PasswordWords {
    /// The best rank that a text has in any of the lists, 1 for the most frequent; all texts are in small letters.
    static let ranks: [String: Int] = {
        var ranks: [String: Int] = [:]
        for list in [passwords, names, english] {
            for (index, word) in list.split(separator: " ").enumerated() {
                ranks[String(word)] = min(ranks[String(word)] ?? .max, index + 1)
            }
        }
        return ranks
    }()

    /// The length of the longest of them, in characters.
    static let longest = 16
}
