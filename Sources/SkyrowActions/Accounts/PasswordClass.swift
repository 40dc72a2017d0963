import SkyrowModel

/// A kind of character that a new password may have to hold.
package enum PasswordClass: String, Hashable, Sendable, CaseIterable {
    case upper
    case lower
    case digit
    /// What is neither a letter nor a number, such as a space or a hyphen.
    case symbol

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        switch self {
        case .upper: return properties.isUppercase
        case .lower: return properties.isLowercase
        case .digit: return properties.numericType == .decimal
        case .symbol: return !properties.isAlphabetic && properties.numericType == nil
        }
    }

    /// v1's name for a password without it.
    var reason: String {
        switch self {
        case .upper: "PasswordUppercaseRequired"
        case .lower: "PasswordLowercaseRequired"
        case .digit: "PasswordDigitRequired"
        case .symbol: "PasswordSymbolRequired"
        }
    }

    /// What is missing, at the end of a sentence.
    var words: String {
        switch self {
        case .upper: "a capital letter"
        case .lower: "a small letter"
        case .digit: "a digit"
        case .symbol: "a character that is neither a letter nor a digit"
        }
    }
}

extension AccountPolicy {
    /// Throws `126 PasswordPolicyViolated` for a new password that is too short or lacks a class of characters.
    func check(_ password: String) throws(SkyrowError) {
        guard password.unicodeScalars.count >= minimumPasswordLength else {
            throw SkyrowError(
                .passwordPolicyViolated,
                "Choose a password of at least \(minimumPasswordLength) characters.",
                info: ["reason": .string("PasswordTooShort"), "min_length": .integer(Int64(minimumPasswordLength))]
            )
        }
        // In one order, so that the same password always gets the same answer.
        for kind in PasswordClass.allCases where passwordClasses.contains(kind) {
            guard password.unicodeScalars.contains(where: { kind.contains($0) }) else {
                throw SkyrowError(
                    .passwordPolicyViolated,
                    "Choose a password with \(kind.words).",
                    info: ["reason": .string(kind.reason)]
                )
            }
        }
    }
}
