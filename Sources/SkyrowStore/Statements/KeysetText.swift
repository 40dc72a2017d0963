internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The SQL of the forms of a ``Keyset``.
extension QueryText {
    /// `("r"."stars", "r"."_id") < ($1, $2)`
    func row(_ keyset: Keyset) -> SQL {
        let columns = keyset.sort.map { ordered($0.column) }.joined(separator: ", ")
        let values = keyset.values.compactMap { $0?.sql }.joined(separator: ", ")
        return keyset.sort.first?.direction == .descending
            ? "(\(columns)) < (\(values))" : "(\(columns)) > (\(values))"
    }

    /// The order of the records of a row comparison, whose first key is never NULL: the order of a plain index.
    func rowOrder(_ keyset: Keyset) -> SQL {
        order(keyset.sort.enumerated().map { place, key in place == 0 ? key.natural : key })
    }

    /// `"r"."stars" = $1 AND "r"."_id" > $2`
    func condition(_ branch: Keyset.Branch, of keyset: Keyset) -> SQL {
        var conditions = (0..<branch.equalKeys).map { place -> SQL in
            let column = ordered(keyset.sort[place].column)
            guard let value = keyset.values[place] else { return "\(column) IS NULL" }
            return "\(column) = \(value.sql)"
        }
        let key = keyset.sort[branch.equalKeys]
        let column = ordered(key.column)
        switch (branch.step, keyset.values[branch.equalKeys]) {
        case (.beyond, let value?):
            conditions.append(key.direction == .descending ? "\(column) < \(value.sql)" : "\(column) > \(value.sql)")
        case (.present, _): conditions.append("\(column) IS NOT NULL")
        case (.missing, _), (.beyond, nil): conditions.append("\(column) IS NULL")
        }
        return conditions.joined(separator: " AND ")
    }

    /// The order of the records of a branch. Its first keys are equal in all of them, and the next key is NULL in all or in none.
    ///
    /// A key that is NULL in all of them stays in the order, in the direction of the keys after it: PostgreSQL uses an index to
    /// order by the keys after one that equals a value, but not after one that is NULL.
    func order(of branch: Keyset.Branch, in keyset: Keyset) -> SQL {
        var keys = Array(keyset.sort[branch.equalKeys...])
        var missing = (0..<branch.equalKeys).filter { keyset.values[$0] == nil }.map { keyset.sort[$0] }
        if branch.step == .missing { missing.append(keys.removeFirst()) } else { keys[0] = keys[0].natural }
        for place in missing.indices { missing[place].direction = keys[0].direction }
        return order(missing.map(\.natural) + keys)
    }

    /// All branches as one condition, after the bound on the first key that they share.
    ///
    /// ```sql
    /// "r"."stars" <= $1 AND (("r"."stars" < $2) OR ("r"."stars" = $3 AND "r"."_id" > $4))
    /// ```
    func condition(_ keyset: Keyset) -> SQL {
        // Without a branch no record can follow. The last key is an id, which every record has.
        guard let key = keyset.sort.first, !keyset.branches.isEmpty else { return "false" }
        let branches = keyset.branches.map { "(\(condition($0, of: keyset)))" as SQL }.joined(separator: " OR ")
        let column = ordered(key.column)
        guard let value = keyset.values[0] else {
            return key.missingComesFirst ? "(\(branches))" : "\(column) IS NULL AND (\(branches))"
        }
        let bound: SQL = key.direction == .descending ? "\(column) <= \(value.sql)" : "\(column) >= \(value.sql)"
        let canBeMissing = !key.missingComesFirst && !key.isNeverMissing
        return canBeMissing
            ? "(\(bound) OR \(column) IS NULL) AND (\(branches))"
            : "\(bound) AND (\(branches))"
    }

    /// Whether an index provides the order of a key.
    func isIndexed(_ key: ResolvedSort, in database: DatabaseScope) -> Bool {
        let column = key.column
        if let value = jsonValue(column) { return root.orders.contains(value, in: database) }
        guard column.join == nil, column.limit == nil, column.reading == .stored, !column.folds,
            !column.readsWireID, column.sortLanguage == nil,
            column.collation.ordersByBytes || !column.kind.isText
        else { return false }
        return root.orders.contains(identifier(column), in: database)
    }

    /// The value inside JSON that a column of the root record is read as; nil if no index can have it.
    func jsonValue(_ column: ResolvedColumn) -> TableIndex.Key.JSONValue? {
        guard column.join == nil, column.limit == nil, !column.folds, column.sortLanguage == nil,
            case .field = column.place, case .typed(let steps, let type) = column.reading,
            !steps.isEmpty, JSONPathLiteral(steps) != nil
        else { return nil }
        return TableIndex.Key.JSONValue(identifier(column).name, steps, type)
    }
}

extension ResolvedSort {
    /// The key with NULL where PostgreSQL sorts it by default, for records that all have a value.
    var natural: ResolvedSort {
        var key = self
        key.missingComesFirst = direction == .descending
        return key
    }
}
