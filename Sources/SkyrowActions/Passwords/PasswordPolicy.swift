package import SkyrowModel

/// The rules for new passwords; existing ones remain valid until they are too old.
///
/// ```swift
/// let policy = PasswordPolicy(minimumStrength: 3)
/// policy.violation(in: "ann1987!", own: ["ann"])  // .weak(0, least: 3)
/// ```
package struct PasswordPolicy: Hashable, Sendable {
    /// The minimum number of characters.
    package var minimumLength: Int
    /// The classes of characters that a password must contain.
    package var classes: Set<PasswordClass>
    /// Words that a password must not contain, without regard to case.
    package var excludedWords: [String]
    /// The fields of the user's record whose text a password must not contain.
    package var excludedFields: [FieldName]
    /// The minimum score of ``PasswordStrength``; 0 for any.
    package var minimumStrength: Int
    /// The number of an account's last passwords, including the current one, that a new one must differ from.
    package var historySize: Int
    /// How long a password is valid; nil means forever.
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
        /// It was right, but is too old.
        case expired
    }

    /// Whether texts of the user are needed to check a password.
    var isAboutUser: Bool { minimumStrength > 0 || !excludedFields.isEmpty }

    /// Returns the first violation in the text of a new password, in a fixed order, so that the same password always gets the
    /// same error.
    ///
    /// - Parameters:
    ///   - excluded: the texts of the excluded fields.
    ///   - own: texts that an attacker of this user would try first.
    package func violation(in password: String, excluded: [String] = [], own: [String] = []) -> Violation? {
        guard password.unicodeScalars.count >= minimumLength else { return .tooShort(least: minimumLength) }
        let scalars = password.unicodeScalars
        for kind in PasswordClass.allCases where classes.contains(kind) && !scalars.contains(where: kind.contains) {
            return .missing(kind)
        }
        let small = password.lowercased()
        // A text of two letters would exclude too many passwords.
        let texts = excludedWords + excluded.filter { $0.unicodeScalars.count > 2 }
        guard !texts.contains(where: { small.contains($0.lowercased()) }) else { return .excluded }
        guard minimumStrength > 0 else { return nil }
        let score = PasswordStrength(of: password, own: own + excludedWords).score
        return score < minimumStrength ? .weak(score, least: minimumStrength) : nil
    }

    /// Returns whether a password of this age has to be changed.
    package func isExpired(afterSeconds age: Double) -> Bool {
        guard let maximumAge else { return false }
        return age >= Double(maximumAge.components.seconds)
    }
}

extension PasswordPolicy.Violation {
    /// The name of the violation in Skygear v1; `PasswordBreached` is an addition.
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
        case .excluded: sentence = "Choose a password without forbidden words, such as your name."
        case .weak(let score, let least):
            sentence = "Choose a password that is harder to guess, such as several unrelated words."
            info["score"] = .integer(Int64(score))
            info["min_score"] = .integer(Int64(least))
        case .reused(let count):
            sentence =
                count == 1
                ? "Choose a password other than the current one."
                : "Choose a password other than your last \(count)."
            info["history_size"] = .integer(Int64(count))
        case .breached: sentence = "Choose another password: this one is in a list of leaked passwords."
        case .expired:
            sentence = "The password has expired. Log in with a new one in new_password, or reset it by mail."
        }
        return SkyrowError(.passwordPolicyViolated, sentence, info: info)
    }
}
