internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Words of texts, either as they are written or as stems of a language.

extension QueryText {
    /// `"app"._words("r"."title") @@ $1::tsquery`, in the form that an index of the kind `text` serves.
    func has(_ words: WordQuery, _ column: ResolvedColumn) -> SQL {
        "\(stems(of: column, words)) @@ \(Self.question(words))"
    }

    /// The words of a text: the column that stores them, or the expression that computes them.
    private func stems(of column: ResolvedColumn, _ words: WordQuery) -> SQL {
        guard !column.folds, column.reading == .stored, let known = self.column(column), let kept = known.storedWords,
            known.textLanguage == words.language
        else { return words.language.words(of: value(column), in: root.schema) }
        let alias = alias(column.join)
        let stems: SQL = "\(alias).\(kept)"
        guard let limit = column.limit else { return stems }
        return "(CASE WHEN \(limit.condition(on: alias)) THEN \(stems) END)"
    }

    /// The rank of a text for the words, a number; NULL if there is no text.
    ///
    /// Words without a language have no positions in a text to rank by, so all texts that have them get the same rank.
    func rank(of words: WordQuery, in column: ResolvedColumn) -> SQL {
        var text = column
        text.kind = .string
        text.reading = .stored
        let value = value(text)
        guard words.hasWords else { return "(CASE WHEN \(value) IS NOT NULL THEN 0::double precision END)" }
        if words.language.needsDatabase {
            return "ts_rank_cd(\(stems(of: text, words)), \(Self.question(words)))::double precision"
        }
        return """
            (CASE WHEN \(value) IS NOT NULL THEN \
            CASE WHEN \(has(words, text)) THEN 1::double precision ELSE 0::double precision END END)
            """
    }

    private static func question(_ words: WordQuery) -> SQL {
        words.language.needsDatabase
            ? "to_tsquery(\(words.language.configuration), \(words.tsquery))" : "\(words.tsquery)::tsquery"
    }
}
