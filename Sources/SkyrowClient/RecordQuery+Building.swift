public import SkyrowModel

extension RecordQuery {
    /// Creates a query for all records of a type; throws `108 InvalidArgument` when the text is not a type name. `"_role"`
    /// queries the roles that the caller may see.
    ///
    /// ```swift
    /// let query = try RecordQuery("movie")
    ///     .filter(Field("year") >= 1990)
    ///     .sorted(by: "rating", .descending)
    ///     .limited(to: 20)
    /// ```
    public init(_ type: String) throws(SkyrowError) {
        self.init(type: try RecordTypeName(readable: type))
    }

    /// Restricts the query to records that also match this predicate.
    public func filter(_ predicate: RecordPredicate) -> RecordQuery {
        var query = self
        query.predicate = self.predicate.map { $0 && predicate } ?? predicate
        return query
    }

    /// Sorts by a key path, after the sort keys that the query already has.
    ///
    /// - Parameter nulls: the position of records without a value; when nil, last in ascending and first in descending order.
    public func sorted(
        by path: String,
        _ direction: SortKey.Direction = .ascending,
        _ nulls: SortKey.Nulls? = nil
    ) -> RecordQuery {
        var query = self
        query.sort.append(SortKey(Field(path).keyPath, direction, nulls))
        return query
    }

    /// Sorts by a field or a function of it, such as without regard to letter case: `sorted(by: Field("title").folded)`.
    public func sorted(
        by field: Field,
        _ direction: SortKey.Direction = .ascending,
        _ nulls: SortKey.Nulls? = nil
    ) -> RecordQuery {
        var key = SortKey(field.keyPath, direction, nulls)
        key.function = field.function
        var query = self
        query.sort.append(key)
        return query
    }

    /// Includes the record that a reference field points to, in `transient` under the field's name or another one.
    public func including(_ path: String, as name: String? = nil) -> RecordQuery {
        var query = self
        query.include.append(Inclusion(name: name ?? path, keyPath: Field(path).keyPath))
        return query
    }

    /// Includes a number under a name in `computed`, such as `including(Field("at").distance(from: here), as: "metres")`.
    public func including(_ field: Field, as name: String) -> RecordQuery {
        var query = self
        query.include.append(Inclusion(name: name, keyPath: field.keyPath, function: field.function))
        return query
    }

    /// Includes the records that all reference fields point to, in `transient` under the names of the fields.
    public func includingEveryReference() -> RecordQuery {
        including(Inclusion.everyReference)
    }

    /// Returns each included record once per response, even when many records include it.
    ///
    /// ```swift
    /// let films = try await database.query(RecordQuery("film").including("author").includingEachOnce())
    /// films.records[0].transient["author"]     // as without it
    /// films.included[try RecordID("person/9")]
    /// ```
    ///
    /// Responses are smaller when many records share a few others. An included record has the fields that any inclusion of its
    /// type asks for.
    public func includingEachOnce() -> RecordQuery {
        var query = self
        query.includeForm = .table
        return query
    }

    /// Includes the records that an array of references leads to, in `lists`, up to a limit for each array.
    ///
    /// ```swift
    /// RecordQuery("post").including("tags", limit: 20) { $0.sort = [SortKey(try FieldPath("name"))] }
    /// ```
    public func including(
        _ path: String,
        as name: String? = nil,
        limit: Int,
        _ change: (inout Inclusion) throws(SkyrowError) -> Void = { _ in }
    ) throws(SkyrowError) -> RecordQuery {
        var inclusion = Inclusion(name: name ?? path, keyPath: Field(path).keyPath)
        inclusion.limit = limit
        try change(&inclusion)
        var query = self
        query.include.append(inclusion)
        return query
    }

    /// Selects these fields only, besides the reserved ones.
    public func selecting(_ fields: [String]) -> RecordQuery {
        var query = self
        query.desiredFields = fields
        return query
    }

    /// Omits these fields, unless other fields are selected.
    public func omitting(_ fields: [String]) -> RecordQuery {
        var query = self
        query.omittedFields = fields
        return query
    }

    /// Limits the number of records (0 to 1000), after skipping the first ones.
    public func limited(to limit: Int, offset: Int = 0) -> RecordQuery {
        var query = self
        query.limit = limit
        query.offset = offset
        return query
    }

    /// Continues after a cursor, which a page of the same query returned.
    public func after(_ cursor: String) -> RecordQuery {
        var query = self
        query.position = .after(cursor)
        return query
    }

    /// Reads the page before a cursor, which a page of the same query returned.
    public func before(_ cursor: String) -> RecordQuery {
        var query = self
        query.position = .before(cursor)
        return query
    }

    /// Reads the last page, of this many records; without a sort, the records that were created last.
    public func last(_ count: Int) -> RecordQuery {
        var query = self
        query.position = .last
        query.limit = count
        return query
    }

    /// Fails the query with `110 ResourceNotFound` when no record matches.
    public func required() -> RecordQuery {
        var query = self
        query.isRequired = true
        return query
    }

    /// Counts all matching records, or estimates their number, which costs less.
    public func counted(_ counting: Counting = .exact) -> RecordQuery {
        var query = self
        query.counting = counting
        return query
    }
}
