internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// An index of a record table as it exists in the database, created by the service or not.
package struct TableIndex: Hashable, Sendable {
    /// A key column or expression of an index.
    package struct Key: Hashable, Sendable {
        package enum Form: String, Hashable, Sendable {
            case column
            /// `_fold` of the column.
            case fold
            /// `_words` of the column.
            case words
            /// A location cast to `geometry`.
            case geometry
            /// A value inside JSON, converted to a type.
            case json
            /// Any other expression.
            case other
        }

        /// A value inside the JSON of a column, converted to a type.
        package struct JSONValue: Hashable, Sendable {
            package var column: String
            package var steps: [String]
            package var type: JSONValueType

            package init(_ column: String, _ steps: [String], _ type: JSONValueType) {
                self.column = column
                self.steps = steps
                self.type = type
            }
        }

        package var form: Form
        /// The value, for the form ``Form/json``; nil for others.
        package var json: JSONValue?
        /// A field's column or a reserved one; nil for another expression, and for a value inside JSON.
        package var column: String?
        package var isDescending = false
        /// Whether nulls come first, which is the default of a descending order.
        package var nullsFirst = false
        /// For words, the language whose stems they are.
        package var language = TextLanguage.words
        /// For words, whether they come from a column that stores them.
        package var isStored = false
        /// The operator class, such as `gin_trgm_ops`; empty for a B-tree.
        package var operators: String
        /// Whether the order is that of the column's type and collation.
        package var hasOrderOfColumn = true

        package init(
            _ column: String?,
            form: Form = .column,
            isDescending: Bool = false,
            nullsFirst: Bool? = nil,
            operators: String = ""
        ) {
            self.form = form
            self.column = column
            self.isDescending = isDescending
            self.nullsFirst = nullsFirst ?? isDescending
            self.operators = operators
        }

        package init(_ value: JSONValue, isDescending: Bool = false, nullsFirst: Bool? = nil) {
            self.init(nil, form: .json, isDescending: isDescending, nullsFirst: nullsFirst)
            json = value
        }

        /// The column that the key depends on.
        var source: String? { column ?? json?.column }

        /// Whether the key matches a definition's field; not for indexes of words or locations.
        func holds(_ field: IndexField) -> Bool {
            if let type = field.jsonType { return json == JSONValue(field.name, field.steps, type) }
            return column == field.name && form == (field.isFolded ? .fold : .column)
        }
    }

    package var name: String
    /// The access method: `btree`, `gin`, `gist` or another.
    package var method: String
    package var keys: [Key]
    package var isUnique = false
    package var isPrimary = false
    /// Whether PostgreSQL uses it for queries; uniqueness is enforced even before.
    package var isValid = true
    /// Whether it belongs to a constraint and can only be dropped with it.
    package var isConstraint = false
    /// The predicate of a partial index, in PostgreSQL's text; nil for all rows.
    package var condition: String?

    package init(
        _ name: String,
        _ keys: [Key],
        method: String = "btree",
        isUnique: Bool = false,
        isPrimary: Bool = false,
        isValid: Bool = true,
        isConstraint: Bool = false,
        condition: String? = nil
    ) {
        self.name = name
        self.method = method
        self.keys = keys
        self.isUnique = isUnique
        self.isPrimary = isPrimary
        self.isValid = isValid
        self.isConstraint = isConstraint
        self.condition = condition
    }

    /// The columns of ``keys``, in order.
    package var columns: [String?] { keys.map(\.column) }

    /// Whether PostgreSQL can use it to search for parts of a text, stored or folded.
    package func hasTrigrams(of field: FieldName, folded: Bool) -> Bool {
        guard isValid, condition == nil, keys.count == 1, keys[0].operators.hasSuffix("_trgm_ops") else { return false }
        return keys[0].column == field.rawValue && keys[0].form == (folded ? .fold : .column)
    }

    /// Whether it returns locations in the order of their distances.
    package func hasDistances(of field: FieldName) -> Bool {
        isValid && condition == nil && method == "gist" && keys.first?.form == .column
            && keys.first?.column == field.rawValue
    }

    /// Whether PostgreSQL can use it to find arrays by their elements.
    package func hasElements(of field: FieldName) -> Bool {
        isValid && condition == nil && method == "gin" && keys.count == 1 && keys[0].form == .column
            && keys[0].column == field.rawValue && keys[0].operators == "array_ops"
    }

    /// Whether a value of the column occurs in at most one row of each database.
    package func isUnique(_ column: String) -> Bool {
        isUnique && isValid && condition == nil
            && (columns == [column] || columns == [ReservedColumn.database.rawValue, column])
    }

    /// Whether it has each row in which a column is not NULL: all rows, or just those, `("year" IS NOT NULL)`.
    ///
    /// Called for every query of a large type, so it creates no strings.
    func hasEveryValue(of column: SQLIdentifier) -> Bool {
        guard let condition else { return true }
        let ending: StaticString = " IS NOT NULL)"
        let bytes = condition.utf8
        guard bytes.first == UInt8(ascii: "("), bytes.count > ending.utf8CodeUnitCount else { return false }
        let isEnding = ending.withUTF8Buffer { bytes.suffix($0.count).elementsEqual($0) }
        let name = bytes.dropFirst().dropLast(ending.utf8CodeUnitCount)
        return isEnding && (name.elementsEqual(column.name.utf8) || name.elementsEqual(column.quoted.utf8))
    }

    /// Whether it is an index that every record table has (Documentation/Decisions/tables-and-values.md).
    ///
    /// - Parameter table: the table of the index.
    package func isBuiltIn(of table: RecordTable) -> Bool {
        if isPrimary || LoginKeys.key(ofIndex: name) != nil { return true }
        guard method == "btree", keys.allSatisfy({ $0.form == .column }) else { return false }
        switch columns {
        case ["_database", "_created_at"]: return condition == nil && !isUnique
        case ["_owner", "_created_at"]: return condition == "(_owner IS NOT NULL)"
        default: return isOfReferenceOrSequence(of: table)
        }
    }

    /// Whether it is the index of a field with a foreign key, or of a sequence field.
    private func isOfReferenceOrSequence(of table: RecordTable) -> Bool {
        guard columns.count == 1, let name = columns[0], let field = try? FieldName(name), let column = table[field],
            condition != nil, hasEveryValue(of: column.identifier)
        else { return false }
        return column.type.hasForeignKey || column.type == .sequence
    }
}

extension TableIndex {
    /// Upper bound on the bytes of a text or `bytes` value in a field of a B-tree index: an index row has at most 2,704 bytes,
    /// of which the other columns take some (nbtree.h, BTMaxItemSize).
    package static let maximumValueBytes = 2600

    /// Reads the output of ``selection``.
    static func all(json text: String) -> [TableIndex] {
        let indexes = try? JSONDocument(Array(text.utf8)).withRoot { list in
            list.elements.compactMap { TableIndex($0) }
        }
        return indexes ?? []
    }

    private init?(_ json: JSONView) {
        guard let name = json["name"]?.string, let method = json["method"]?.string, let keys = json["keys"] else {
            return nil
        }
        self.init(
            name,
            keys.elements.map { Key($0) },
            method: method,
            isUnique: json["unique"]?.boolean ?? false,
            isPrimary: json["primary"]?.boolean ?? false,
            isValid: json["valid"]?.boolean ?? false,
            isConstraint: json["constraint"]?.boolean ?? false,
            condition: json["condition"]?.string
        )
    }

    /// Selects the indexes of the table that the SQL names, as a JSON array in text.
    ///
    /// There may be thousands of types with three indexes each, so rare properties are computed only for the indexes that have
    /// them. Conditions and expressions are read from PostgreSQL's stored node trees: the functions that print them lock the
    /// table, and would wait for a table that is kept locked.
    static func selection(of table: SQL) -> SQL {
        """
        (
            SELECT json_agg(json_build_object(
                'name', index_class.relname, 'method', amname, 'unique', indisunique, 'primary', indisprimary,
                'valid', indisvalid,
                'condition', CASE WHEN indpred IS NOT NULL THEN coalesce((
                    SELECT format('(%I IS NOT NULL)', attname) FROM pg_catalog.pg_attribute
                    WHERE attrelid = indrelid AND attnum = substring(
                        indpred::text FROM '^\\(?\\{NULLTEST :arg \\{VAR :varno 1 :varattno (\\d+) [^{}]*\\} :nulltesttype 1 [^{}]*\\}\\)?$'
                    )::integer
                ), 'other') END,
                'constraint', (indisunique OR indisexclusion) AND NOT indisprimary AND EXISTS (
                    SELECT FROM pg_catalog.pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid
                ),
                'keys', (
                    SELECT json_agg(json_build_array(
                        CASE WHEN number <> 0 THEN (
                            SELECT coalesce(CASE WHEN \(StoredWords.isColumn("indexed")) THEN (
                                SELECT 'stored/' || language || ':' || text FROM (
                                    \(TextLanguage.storedWords("words.attrelid = indexed.attrelid AND words.attnum = indexed.attnum"))
                                ) AS kept
                            ) END, 'column:' || attname)
                            FROM pg_catalog.pg_attribute AS indexed WHERE attrelid = indrelid AND attnum = number
                        ) ELSE (
                            SELECT CASE proname WHEN '_fold' THEN 'fold:' WHEN '_words' THEN 'words' || coalesce(
                                '/' || \(TextLanguage.name(ofBytes: "words[2]")), ''
                            ) || ':' WHEN 'geometry' THEN 'geometry:' ELSE 'json/' || proname || '/' || words[6] || ':' END || attname
                            FROM regexp_matches(indexprs::text, \(anyCall), 'g') WITH ORDINALITY AS part (words, position)
                            JOIN pg_catalog.pg_proc ON pg_proc.oid = coalesce(words[1], words[4])::oid
                            JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = coalesce(words[3], words[5])::integer
                            WHERE position = expressions AND CASE
                                    WHEN words[4] IS NULL THEN proname IN ('_fold', '_words', 'geometry')
                                    ELSE proname IN ('_json_text', '_json_number', '_json_boolean', '_json_instant')
                                END
                                AND regexp_replace(indexprs::text, \(anyCall), '', 'g') ~ '^[() ]*$'
                        ) END,
                        option, CASE WHEN amname <> 'btree' THEN (
                            SELECT opcname FROM pg_catalog.pg_opclass WHERE oid = class
                        ) END,
                        (SELECT opcdefault FROM pg_catalog.pg_opclass WHERE oid = class) AND ordering IS NOT DISTINCT FROM (
                            SELECT attcollation FROM pg_catalog.pg_attribute WHERE attrelid = indrelid AND attnum = number
                        ),
                        (SELECT opcdefault FROM pg_catalog.pg_opclass WHERE oid = class) AND ordering::bigint IN (0, 950)
                    ) ORDER BY place)
                    FROM (
                        SELECT *, count(*) FILTER (WHERE number = 0) OVER (ORDER BY place) AS expressions
                        FROM unnest(indkey::smallint[], indoption::smallint[], indclass::oid[], indcollation::oid[])
                            WITH ORDINALITY AS key (number, option, class, ordering, place)
                    ) AS key
                    WHERE place <= indnkeyatts
                )
            ) ORDER BY index_class.relname)::text
            FROM pg_catalog.pg_index
            JOIN pg_catalog.pg_class AS index_class ON index_class.oid = indexrelid
            JOIN pg_catalog.pg_am ON pg_am.oid = index_class.relam
            WHERE indrelid = \(table)
        )
        """
    }

    /// SQL condition: whether a row of `pg_index` is for other words of a text than queries use, because the language differs,
    /// or because only one of both uses a column that stores words.
    ///
    /// An unsupported language counts as none, since indexes are built that way; otherwise they would be rebuilt forever.
    ///
    /// - Parameter field: the name of the text field.
    static func isOutdated(wordsOf field: SQL) -> SQL {
        """
        EXISTS (
            SELECT FROM pg_catalog.pg_attribute AS field
            LEFT JOIN pg_catalog.pg_attribute AS kept ON kept.attrelid = indrelid AND kept.attnum = indkey[0]
            LEFT JOIN LATERAL regexp_match(indexprs::text, \(call)) AS tree (words) ON true
            WHERE field.attrelid = indrelid AND field.attname = (\(field))::name AND CASE
                WHEN indkey[0] <> 0 THEN \(StoredWords.isColumn("kept"))
                    AND kept.attname IS DISTINCT FROM \(TextLanguage.storedWords(ofAttribute: "field"))
                WHEN tree.words[3]::integer <> field.attnum OR NOT EXISTS (
                    SELECT FROM pg_catalog.pg_proc WHERE oid = tree.words[1]::oid AND proname = '_words'
                ) THEN false
                ELSE \(TextLanguage.storedWords(ofAttribute: "field")) IS NOT NULL
                    OR \(TextLanguage.name(ofBytes: "tree.words[2]")) IS DISTINCT FROM (
                        SELECT name FROM (SELECT \(TextLanguage.ofAttribute("field"))::text AS name) AS language
                        WHERE name = ANY (\(TextLanguage.allCases.map(\.rawValue)))
                    )
            END
        )
        """
    }

    /// A pattern for a function call on a column in a node tree of PostgreSQL: captures the function's OID, the bytes of the
    /// OID of a language argument, if any, and the column number.
    private static let call: SQL = "\(literal: columnCall)"

    /// Additionally matches a function call on a value inside JSON (`#>` is operator 3213): captures the function's OID, the
    /// column number, and the bytes of the array of steps.
    private static let anyCall: SQL = """
        \(literal: columnCall + "|"
            + #"\{FUNCEXPR :funcid (\d+) [^{}]*:args \(\{OPEXPR :opno 3213 [^{}]*:args \(\{VAR :varno 1 :varattno (\d+) [^{}]*\} "#
            + #"\{CONST :consttype 1009 [^{}]*:constvalue \d+ \[ ([-\d ]+) \]\}\) :location -?\d+\}\) :location -?\d+\}"#)
        """

    private static let columnCall =
        #"\{FUNCEXPR :funcid (\d+) [^{}]*:args \((?:"# + TextLanguage.constant
        + #" )?\{VAR :varno 1 :varattno (\d+) [^{}]*\}\) :location -?\d+\}"#
}

extension TableIndex.Key {
    /// Whether it has the words of a text as queries use them.
    package func hasWords(of column: RecordColumn) -> Bool {
        form == .words && self.column == column.identifier.name && language == column.textLanguage
            && isStored == (column.storedWords != nil)
    }

    fileprivate init(_ json: JSONView) {
        // "fold:title", "words/english:title", "stored/english:title" or "json/_json_number/<bytes>:meta", the options, the
        // operator class, and whether the order is that of the column or that of bytes.
        let parts = Array(json.elements)
        let words = (parts.first?.string ?? "").split(separator: ":", maxSplits: 1).map(String.init)
        let kind = (words.first ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        let option = parts.count > 1 ? parts[1].wholeNumber ?? 0 : 0
        // pg_index.h: INDOPTION_DESC is 1, INDOPTION_NULLS_FIRST 2.
        self.init(
            words.count == 2 ? words[1] : nil,
            form: kind.first.flatMap(Form.init) ?? .other,
            isDescending: option & 1 != 0,
            nullsFirst: option & 2 != 0,
            operators: parts.count > 2 ? parts[2].string ?? "" : ""
        )
        if kind.first == "stored" { (form, isStored) = (.words, true) }
        hasOrderOfColumn = parts.count > 3 && parts[3].boolean ?? false
        // An unsupported language serves no query.
        guard kind.count == 2 else { return }
        if form == .json {
            self.json = column.flatMap { JSONValue(kind[1], in: $0) }
            column = nil
            if self.json == nil { form = .other }
            hasOrderOfColumn = parts.count > 4 && parts[4].boolean ?? false
        } else if let known = TextLanguage(rawValue: kind[1]) {
            language = known
        } else {
            form = .other
        }
    }
}

extension TableIndex.Key.JSONValue {
    /// Reads `_json_number/-128 0 0 0 …`: a function, and the bytes of a text array from a node tree of PostgreSQL.
    fileprivate init?(_ text: String, in column: String) {
        let words = text.split(separator: "/")
        guard words.count == 2,
            let type = JSONValueType.allCases.first(where: { $0.function.name == words[0] }),
            let steps = Self.steps(words[1].split(separator: " ").compactMap { Int8($0) }.map { UInt8(bitPattern: $0) })
        else { return nil }
        self.init(column, steps, type)
    }

    /// Returns the elements of a text array (array.h): its length, dimensions, flags, element type, and the length and lower
    /// bound of the dimension, then each element with its length, aligned to four bytes.
    private static func steps(_ bytes: [UInt8]) -> [String]? {
        func number(at place: Int) -> Int? {
            guard place >= 0, place + 4 <= bytes.count else { return nil }
            return Int(bytes[place..<(place + 4)].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        }
        guard number(at: 4) == 1, number(at: 8) == 0, let count = number(at: 16),
            (1...maximumJSONStepsOfAPath).contains(count)
        else { return nil }
        var steps: [String] = []
        var place = 24
        for _ in 0..<count {
            // If the two lowest bits are zero, the length takes four bytes, itself included.
            guard let header = number(at: place), header & 3 == 0, case let length = header >> 2, length >= 4,
                place + length <= bytes.count
            else { return nil }
            steps.append(String(decoding: bytes[(place + 4)..<(place + length)], as: UTF8.self))
            place += (length + 3) & ~3
        }
        return JSONPathLiteral(steps) == nil ? nil : steps
    }
}

extension RecordTable {
    /// Returns the index of that name; nil if the catalog does not have it.
    package func index(named name: String) -> TableIndex? {
        indexes.first { $0.name == name }
    }

    /// Returns the fields of an index, in its order; empty if there is no such index.
    package func fields(ofIndex name: String) -> [FieldName] {
        (index(named: name)?.keys ?? []).compactMap { self[$0]?.field }
    }

    /// Returns the fields of an index that hold texts or bytes, directly or inside JSON.
    package func texts(ofIndex name: String) -> [FieldName] {
        (index(named: name)?.keys ?? []).compactMap { key in
            guard let column = self[key], [.string, .bytes].contains(column.type) || key.json?.type == .string else {
                return nil
            }
            return column.field
        }
    }

    /// The field of an index key; nil if it has none.
    private subscript(key: TableIndex.Key) -> RecordColumn? {
        key.source.flatMap { try? FieldName($0) }.flatMap { self[$0] }
    }
}

extension String {
    /// The text escaped as a `LIKE` pattern that matches only itself.
    var escapedForPattern: String {
        var pattern = ""
        for scalar in unicodeScalars {
            if scalar == "%" || scalar == "_" || scalar == "\\" { pattern.unicodeScalars.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern
    }
}
