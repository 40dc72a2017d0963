import Foundation
import Testing

@testable import SkyrowActions

/// How hard passwords are to guess, by the estimate.
@Suite struct PasswordStrengthTests {
    @Test(
        arguments: [
            // Of the lists, in any letters, from both ends, with signs that look like letters.
            ("password", 0), ("PASSWORD", 0), ("drowssap", 0), ("p@ssw0rd", 0), ("Passw0rd", 0), ("letmein", 0),
            ("iloveyou", 0), ("password1", 0), ("dragon", 0),
            // Keys, sequences, repetitions, dates.
            ("qwertyuiop", 0), ("zxcvbnm", 0), ("abcdefgh", 0), ("87654321", 0), ("aaaaaaaaaaaa", 0),
            ("abcabcabcabc", 0),
            ("1987", 0), ("24.03.1987", 1), ("24031987", 1), ("1qaz2wsx", 0), ("asdfghjkl;'", 1),
            // Words of one's own.
            ("rosalind", 0), ("Rosalind1987", 1), ("example.org", 0),
            // What is put together.
            ("correct horse", 3), ("correct horse battery staple", 4), ("xkq7Wm2p", 2), ("xkq7Wm2pT", 3),
            ("xkq7Wm2pTz-4", 4),
            ("dragon1987", 1), ("漢字漢字", 0), ("", 0), ("a", 0),
        ] as [(String, Int)]
    )
    func aPasswordHasAScore(_ password: String, _ score: Int) {
        let strength = PasswordStrength(of: password, own: ["rosalind", "rosalind@example.org"])
        #expect(strength.score == score, "\(strength.magnitude)")
    }

    @Test func oneOwnTextsLowerTheEstimate() {
        let (name, other) = ("Wilhelmine-Zx", "wzx@rosengarten.example")
        let alone = PasswordStrength(of: "wilhelmine-zx7")
        let meant = PasswordStrength(of: "wilhelmine-zx7", own: [name, other])
        #expect(meant.magnitude + 3 < alone.magnitude)
        #expect(meant.score < alone.score)
    }

    /// It runs on the threads of requests.
    @Test(arguments: ["a", "ab", "qwertz", "p4ss", "1.2.", "0123456789", "漢", "correct horse battery staple "])
    func aLongPasswordIsAsMuchWorkAsItsBeginning(_ part: String) {
        let password = String(repeating: part, count: 4096 / part.utf8.count)
        let beginning = String(String.UnicodeScalarView(password.unicodeScalars.prefix(PasswordStrength.maximumLength)))
        let own = (0..<50).map { String(repeating: "x\($0)", count: 40) }
        let strength = PasswordStrength(of: password, own: own)
        #expect(strength == PasswordStrength(of: beginning))
        #expect(strength.magnitude.isFinite)
    }

    @Test func noWordIsLongerThanIsLookedFor() {
        #expect(PasswordWords.ranks.keys.map(\.unicodeScalars.count).max() ?? 0 <= PasswordWords.longest)
        #expect(PasswordWords.ranks.count > 5000)
    }
}
