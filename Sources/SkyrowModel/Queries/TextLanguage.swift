/// How `match` finds the words of a string field: as written, or by the stems of a language.
///
/// Each language is the PostgreSQL text search configuration of that name.
///
/// ```swift
/// let film = RecordType(name: name, fields: [title: .string], textLanguages: [title: .english])
/// ```
public enum TextLanguage: String, Hashable, Sendable, CaseIterable {
    /// Words as written, except for their case: `none` in a schema, and the default of a field.
    case words = "none"
    /// Words as written, with phrases and ranks.
    case simple
    case arabic, armenian, basque, catalan, danish, dutch, english, finnish, french, german, greek, hindi, hungarian
    case indonesian, irish, italian, lithuanian, nepali, norwegian, portuguese, romanian, russian, serbian, spanish
    case swedish, tamil, turkish, yiddish

    /// Whether only the database can find words this way.
    package var needsDatabase: Bool { self != .words }
}
