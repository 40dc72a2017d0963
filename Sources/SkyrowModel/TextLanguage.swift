/// How `match` finds the words of a string field: as they are written, or by the stems of a language.
///
/// Each language is a configuration of PostgreSQL's text search of that name.
///
/// ```swift
/// let film = RecordType(name: name, fields: [title: .string], textLanguages: [title: .english])
/// ```
public enum TextLanguage: String, Hashable, Sendable, CaseIterable {
    /// Words as they are written, but for their case: `none` in a schema, and what a field has that says nothing.
    case words = "none"
    /// Words as they are written, with phrases and ranks.
    case simple
    case arabic, armenian, basque, catalan, danish, dutch, english, finnish, french, german, greek, hindi, hungarian
    case indonesian, irish, italian, lithuanian, nepali, norwegian, portuguese, romanian, russian, serbian, spanish
    case swedish, tamil, turkish, yiddish

    /// Whether the database alone finds words so.
    package var needsDatabase: Bool { self != .words }
}
