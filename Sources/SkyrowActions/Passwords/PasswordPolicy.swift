package import SkyrowModel

/// What new passwords must be; those that accounts have already go on until they are too old.
///
/// ```swift
/// let policy = PasswordPolicy(minimumStrength: 3)
/// policy.violation(in: "ann1987!", own: ["ann"])  // .weak(0, least: 3)
/// ```
package struct PasswordPolicy: Hashable, Sendable {
    /// The fewest characters.
    package var minimumLength: Int
    /// The kinds of characters that a password holds.
    package var classes: Set<PasswordClass>
    /// Words that no password contains, in whatever letters.
    package var excludedWords: [String]
    /// The fields of the user's record whose text no password contains.
    package var excludedFields: [FieldName]
    /// The least score of ``PasswordStrength``; 0 for any.
    package var minimumStrength: Int
    /// From how many of an account's last passwords a new one differs, the present one among them.
    package var historySize: Int
    /// After how long a password has to be changed; nil: never.
    package var maximumAge: Duration?

    package init(
        minimumLength: Int = 8,
        classes: Set<PasswordClass> = [],
        excludedWords: [String] = [],
        excludedFields: [FieldName] = [],
        minimumStrength: Int = 0,
        historySize: Int = 0,
        maximumAge: Duration? = nil
    ) {
        self.minimumLength = minimumLength
        self.classes = classes
        self.excludedWords = excludedWords
        self.excludedFields = excludedFields
        self.minimumStrength = minimumStrength
        self.historySize = historySize
        self.maximumAge = maximumAge
    }

    /// Why a password is not accepted.
    package enum Violation: Hashable, Sendable {
        case tooShort(least: Int)
        case missing(PasswordClass)
        /// It contains an excluded word or the text of an excluded field.
        case excluded
        case weak(Int, least: Int)
        case reused(of: Int)
        case breached
        /// It was right, and is too old.
        case expired
    }

    /// Whether texts of the user's own are needed to judge a password.
    var isAboutUser: Bool { minimumStrength > 0 || !excludedFields.isEmpty }

    /// What the text of a new password breaks first, in one order, so that the same password always gets the same answer.
    ///
    /// - Parameters:
    ///   - excluded: the texts of the excluded fields.
    ///   - own: texts by which an attacker begins who means this user.
    package func violation(in password: String, excluded: [String] = [], own: [String] = []) -> Violation? {
        guard password.unicodeScalars.count >= minimumLength else { return .tooShort(least: minimumLength) }
        let scalars = password.unicodeScalars
        for kind in PasswordClass.allCases where classes.contains(kind) && !scalars.contains(where: kind.contains) {
            return .missing(kind)
        }
        let small = password.lowercased()
        // A text of two letters would leave few passwords.
        let texts = excludedWords + excluded.filter { $0.unicodeScalars.count > 2 }
        guard !texts.contains(where: { small.contains($0.lowercased()) }) else { return .excluded }
        guard minimumStrength > 0 else { return nil }
        let score = PasswordStrength(of: password, own: own + excludedWords).score
        return score < minimumStrength ? .weak(score, least: minimumStrength) : nil
    }

    /// Whether a password that was set so long ago has to be changed.
    package func isExpired(afterSeconds age: Double) -> Bool {
        guard let maximumAge else { return false }
        return age >= Double(maximumAge.components.seconds)
    }
}

extension PasswordPolicy.Violation {
    /// v1's name of it; a breached password is one of ours.
    package var reason: String {
        switch self {
        case .tooShort: "PasswordTooShort"
        case .missing(let kind): kind.reason
        case .excluded: "PasswordContainingExcludedKeywords"
        case .weak: "PasswordBelowGuessableLevel"
        case .reused: "PasswordReused"
        case .breached: "PasswordBreached"
        case .expired: "PasswordExpired"
        }
    }

    /// `126 PasswordPolicyViolated`
    package var error: SkyrowError {
        var info: [String: ErrorInfo] = ["reason": .string(reason)]
        let sentence: String
        switch self {
        case .tooShort(let least):
            sentence = "Choose a password of at least \(least) characters."
            info["min_length"] = .integer(Int64(least))
        case .missing(let kind): sentence = "Choose a password with \(kind.words)."
        case .excluded: sentence = "Choose a password without words that are not allowed here, such as your name."
        case .weak(let score, let least):
            sentence = "Choose a password that is harder to guess, such as several words that do not belong together."
            info["score"] = .integer(Int64(score))
            info["min_score"] = .integer(Int64(least))
        case .reused(let count):
            sentence =
                count == 1
                ? "Choose a password that is not the present one."
                : "Choose a password that is none of your last \(count)."
            info["history_size"] = .integer(Int64(count))
        case .breached: sentence = "Choose another password: this one is in a list of passwords that have leaked."
        case .expired: sentence = "The password is too old. Log in with a new one in new_password, or reset it by mail."
        }
        return SkyrowError(.passwordPolicyViolated, sentence, info: info)
    }
}
