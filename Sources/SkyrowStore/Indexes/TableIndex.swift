internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// An index of a record table as the database has it, made by the service or not.
package struct TableIndex: Hashable, Sendable {
    /// What of a row one place of an index holds.
    package struct Key: Hashable, Sendable {
        package enum Form: String, Hashable, Sendable {
            case column
            /// `_fold` of the column.
            case fold
            /// `_words` of the column.
            case words
            /// A location as a geometry.
            case geometry
            /// A value inside JSON as one of a type.
            case json
            /// Any other expression.
            case other
        }

        /// A value inside the JSON of a column, as one of a type.
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
        /// Of the form ``Form/json``, the value; nil for any other.
        package var json: JSONValue?
        /// A field's column or a reserved one; nil for an expression of another form, and for a value inside JSON.
        package var column: String?
        package var isDescending = false
        /// Whether missing values come first, as they do in a descending order unless it says otherwise.
        package var nullsFirst = false
        /// Of words, the language whose stems they are.
        package var language = TextLanguage.words
        /// Of words, whether they are those of a column that keeps them.
        package var isStored = false
        /// The operator class, `gin_trgm_ops`; empty for a btree.
        package var operators: String
        /// Whether it has the order of the column's type and collation.
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

        /// The column whose values decide what it holds.
        var source: String? { column ?? json?.column }

        /// Whether it holds what a definition asks for, of an index that is not one of words or places.
        func holds(_ field: IndexField) -> Bool {
            if let type = field.jsonType { return json == JSONValue(field.name, field.steps, type) }
            return column == field.name && form == (field.isFolded ? .fold : .column)
        }
    }

    package var name: String
    /// `btree`, `gin`, `gist` or whatever else.
    package var method: String
    package var keys: [Key]
    package var isUnique = false
    package var isPrimary = false
    /// Whether PostgreSQL uses it; it keeps values unique before that.
    package var isValid = true
    /// Whether it belongs to a constraint, by which alone it goes.
    package var isConstraint = false
    /// The condition of the rows that it has, as PostgreSQL prints it; nil for all rows.
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

    /// The columns of ``keys``, in their order.
    package var columns: [String?] { keys.map(\.column) }

    /// Whether PostgreSQL finds parts of a text by it, of the text as it is or of the folded one.
    package func hasTrigrams(of field: FieldName, folded: Bool) -> Bool {
        guard isValid, condition == nil, keys.count == 1, keys[0].operators.hasSuffix("_trgm_ops") else { return false }
        return keys[0].column == field.rawValue && keys[0].form == (folded ? .fold : .column)
    }

    /// Whether it gives locations in the order of their distances.
    package func hasDistances(of field: FieldName) -> Bool {
        isValid && condition == nil && method == "gist" && keys.first?.form == .column
            && keys.first?.column == field.rawValue
    }

    /// Whether PostgreSQL finds the arrays by it that have some elements.
    package func hasElements(of field: FieldName) -> Bool {
        isValid && condition == nil && method == "gin" && keys.count == 1 && keys[0].form == .column
            && keys[0].column == field.rawValue && keys[0].operators == "array_ops"
    }

    /// Whether a value of the column is in one row of each database at most.
    package func isUnique(_ column: String) -> Bool {
        isUnique && isValid && condition == nil
            && (columns == [column] || columns == [ReservedColumn.database.rawValue, column])
    }

    /// Whether it has each row in which a column is not NULL: all rows, or those alone, `("year" IS NOT NULL)`.
    ///
    /// It is asked of every query of a large type, so that no text is made for it.
    func hasEveryValue(of column: SQLIdentifier) -> Bool {
        guard let condition else { return true }
        let ending: StaticString = " IS NOT NULL)"
        let bytes = condition.utf8
        guard bytes.first == UInt8(ascii: "("), bytes.count > ending.utf8CodeUnitCount else { return false }
        let isEnding = ending.withUTF8Buffer { bytes.suffix($0.count).elementsEqual($0) }
        let name = bytes.dropFirst().dropLast(ending.utf8CodeUnitCount)
        return isEnding && (name.elementsEqual(column.name.utf8) || name.elementsEqual(column.quoted.utf8))
    }

    /// Whether it is one of those that each record table has, which are those of decision 0004.
    ///
    /// - Parameter table: whose index it is.
    package func isBuiltIn(of table: RecordTable) -> Bool {
        if isPrimary || LoginKeys.key(ofIndex: name) != nil { return true }
        guard method == "btree", keys.allSatisfy({ $0.form == .column }) else { return false }
        switch columns {
        case ["_database", "_created_at"]: return condition == nil && !isUnique
        case ["_owner", "_created_at"]: return condition == "(_owner IS NOT NULL)"
        default: return isOfReferenceOrSequence(of: table)
        }
    }

    /// Whether it is the one that the field of a reference or of a sequence gets.
    private func isOfReferenceOrSequence(of table: RecordTable) -> Bool {
        guard columns.count == 1, let name = columns[0], let field = try? FieldName(name), let column = table[field],
            condition != nil, hasEveryValue(of: column.identifier)
        else { return false }
        switch column.type {
        case .reference, .sequence: return true
        default: return false
        }
    }
}

extension TableIndex {
    /// The most bytes that a text or bytes may have in a field of a btree index: a row of such an index has at most 2,704,
    /// of which the others take some (nbtree.h, BTMaxItemSize).
    package static let maximumValueBytes = 2600

    /// Reads what ``selection`` has printed.
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

    /// The indexes of the table that the SQL names, as a JSON array in text.
    ///
    /// There may be thousands of types with three indexes each, so that what few have is asked for those alone. Conditions and
    /// expressions are read from the trees of PostgreSQL: what prints them locks the table, and would wait for as long as
    /// somebody keeps it locked.
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

    /// Whether a row of `pg_index` has other words of a text than queries ask for, in SQL: those of another language, or those that are
    /// computed where a column keeps them, and the reverse.
    ///
    /// A language that is none of ours is as none, since an index is built so, and would be built again and again.
    ///
    /// - Parameter field: the name of the text.
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

    /// The call of a function with a column, in a tree of PostgreSQL: the number of the function, of a language before the column
    /// the bytes of its number, and the number of the column.
    private static let call: SQL = "\(literal: columnCall)"

    /// The same, or the call of a function with a value inside JSON (`#>` has the number 3213): the number of the function, that of
    /// the column, and the bytes of the array of steps.
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
    /// Whether it has the words of a text as queries ask for them.
    package func hasWords(of column: RecordColumn) -> Bool {
        form == .words && self.column == column.identifier.name && language == column.textLanguage
            && isStored == (column.storedWords != nil)
    }

    fileprivate init(_ json: JSONView) {
        // "fold:title", "words/english:title", "stored/english:title" or "json/_json_number/<bytes>:meta", the options, the
        // operator class, and whether it is in the order of the column or in that of bytes.
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
        // One that is not ours serves no query of ours.
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
    /// Reads `_json_number/-128 0 0 0 …`, a function and the bytes of an array of texts as a tree of PostgreSQL has them.
    fileprivate init?(_ text: String, in column: String) {
        let words = text.split(separator: "/")
        guard words.count == 2,
            let type = JSONValueType.allCases.first(where: { $0.function.name == words[0] }),
            let steps = Self.steps(words[1].split(separator: " ").compactMap { Int8($0) }.map { UInt8(bitPattern: $0) })
        else { return nil }
        self.init(column, steps, type)
    }

    /// The elements of an array of texts (array.h): its length, dimensions, flags, type of elements, length and lower bound of the
    /// dimension, then each element with its length, from a multiple of four bytes on.
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
            // The two lowest bits say that the length has four bytes, itself included.
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
    /// The index of that name; nil when there is none as far as this table says.
    package func index(named name: String) -> TableIndex? {
        indexes.first { $0.name == name }
    }

    /// The fields that an index is over, in its order; none where there is no such index.
    package func fields(ofIndex name: String) -> [FieldName] {
        (index(named: name)?.keys ?? []).compactMap { self[$0]?.field }
    }

    /// Those of them that hold texts or bytes, as they are or inside JSON.
    package func texts(ofIndex name: String) -> [FieldName] {
        (index(named: name)?.keys ?? []).compactMap { key in
            guard let column = self[key], [.string, .bytes].contains(column.type) || key.json?.type == .string else {
                return nil
            }
            return column.field
        }
    }

    /// The field that an index is over at one place; nil for none.
    private subscript(key: TableIndex.Key) -> RecordColumn? {
        key.source.flatMap { try? FieldName($0) }.flatMap { self[$0] }
    }
}

extension String {
    /// The text as a pattern of `LIKE` that it alone matches.
    var escapedForPattern: String {
        var pattern = ""
        for scalar in unicodeScalars {
            if scalar == "%" || scalar == "_" || scalar == "\\" { pattern.unicodeScalars.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern
    }
}
