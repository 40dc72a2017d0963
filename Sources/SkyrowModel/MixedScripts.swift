extension String {
    /// Whether the text mixes letters of scripts that are not written together, such as a Cyrillic letter in a Latin word.
    ///
    /// The allowed combinations are those of Unicode's "Highly Restrictive" level (UTS 39, 5.2): one script, or Latin with the
    /// scripts of Japanese, Chinese or Korean. Digits, signs and marks belong to every script. The parts of a mail address are
    /// checked one by one.
    ///
    /// ```swift
    /// "zoe".mixesScripts         // false
    /// "z\u{043E}e".mixesScripts  // true: the letter in the middle is Cyrillic
    /// ```
    package var mixesScripts: Bool {
        guard !utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        let parts = contains("@") ? split { $0 == "@" || $0 == "." } : [self[...]]
        return parts.contains { part in
            let scripts = Set(part.unicodeScalars.compactMap(\.script))
            return scripts.count > 1 && !String.writtenTogether.contains { scripts.isSubset(of: $0) }
        }
    }

    private static let writtenTogether: [Set<String>] = [
        ["LATIN", "CJK", "HIRAGANA", "KATAKANA"], ["LATIN", "CJK", "BOPOMOFO"], ["LATIN", "CJK", "HANGUL"],
    ]

    /// Whether the text consists only of invisible code points.
    package var isInvisible: Bool { unicodeScalars.allSatisfy(\.showsNothing) }

    /// Whether the text has a control character or an invisible first or last code point, so that it looks like another text.
    package var hasStrayBlanks: Bool {
        let scalars = unicodeScalars
        return scalars.first?.showsNothing ?? false || scalars.last?.showsNothing ?? false
            || scalars.contains { $0.properties.generalCategory == .control }
    }
}

extension Unicode.Scalar {
    /// Whether the code point is invisible. `_login_canonical` of `sql/schema.sql` has the same code points.
    package var showsNothing: Bool {
        switch value {
        // Interlinear annotations, the Braille pattern without dots, and a note without a head.
        case 0xFFF9...0xFFFB, 0x2800, 0x1D159: true
        default:
            properties.isDefaultIgnorableCodePoint || properties.isWhitespace || properties.generalCategory == .control
        }
    }

    /// The script of a letter; nil for code points that belong to every script.
    ///
    /// The standard library has no property for scripts, but the name of a letter begins with its script.
    fileprivate var script: String? {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .otherLetter: break
        default: return nil
        }
        if value < 0x80 { return "LATIN" }
        guard let name = properties.name else { return nil }
        var words = name.split(separator: " ", maxSplits: 2)[...]
        // FULLWIDTH LATIN CAPITAL LETTER A, HALFWIDTH KATAKANA LETTER A
        if words.first == "FULLWIDTH" || words.first == "HALFWIDTH" { words.removeFirst() }
        guard let first = words.first else { return nil }
        // CJK UNIFIED IDEOGRAPH-4E00, KATAKANA-HIRAGANA PROLONGED SOUND MARK
        let script = first.prefix { $0 != "-" }
        switch script {
        case "FEMININE", "MASCULINE", "MICRO", "MODIFIER", "MATHEMATICAL", "SCRIPT", "DOUBLE", "BLACK", "KELVIN",
            "ANGSTROM", "OHM", "ALEF", "BET", "GIMEL", "DALET":
            return nil
        default:
            return String(script)
        }
    }
}
