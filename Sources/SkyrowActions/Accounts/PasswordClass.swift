import SkyrowModel

/// A class of characters that a new password may have to contain.
package enum PasswordClass: String, Hashable, Sendable, CaseIterable {
    case upper
    case lower
    case digit
    /// Characters that are neither letters nor numbers, such as a space or a hyphen.
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

    /// The name of this violation in Skygear v1.
    var reason: String {
        switch self {
        case .upper: "PasswordUppercaseRequired"
        case .lower: "PasswordLowercaseRequired"
        case .digit: "PasswordDigitRequired"
        case .symbol: "PasswordSymbolRequired"
        }
    }

    /// The missing class, for the end of a sentence.
    var words: String {
        switch self {
        case .upper: "an uppercase letter"
        case .lower: "a lowercase letter"
        case .digit: "a digit"
        case .symbol: "a character that is neither a letter nor a digit"
        }
    }
}
