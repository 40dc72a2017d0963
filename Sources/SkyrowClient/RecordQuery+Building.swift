public import SkyrowModel

extension RecordQuery {
    /// A query for all records of a type; throws `108 InvalidArgument` when the text is no name. `"_role"` is for the roles that
    /// the caller sees.
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

    /// Only records for which this holds too.
    public func filter(_ predicate: RecordPredicate) -> RecordQuery {
        var query = self
        query.predicate = self.predicate.map { $0 && predicate } ?? predicate
        return query
    }

    /// Sorted by a key path, after the keys that the query already has.
    ///
    /// - Parameter nulls: where records without a value come; last ascending and first descending when nil.
    public func sorted(
        by path: String,
        _ direction: SortKey.Direction = .ascending,
        _ nulls: SortKey.Nulls? = nil
    ) -> RecordQuery {
        var query = self
        query.sort.append(SortKey(Field(path).keyPath, direction, nulls))
        return query
    }

    /// Sorted by a field, such as a text without regard to upper and lower case: `sorted(by: Field("title").folded)`.
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

    /// Each with the record that a reference field points at, under the field's name or another in `transient`.
    public func including(_ path: String, as name: String? = nil) -> RecordQuery {
        var query = self
        query.include.append(Inclusion(name: name ?? path, keyPath: Field(path).keyPath))
        return query
    }

    /// Each with a number under a name in `computed`, such as `including(Field("at").distance(from: here), as: "metres")`.
    public func including(_ field: Field, as name: String) -> RecordQuery {
        var query = self
        query.include.append(Inclusion(name: name, keyPath: field.keyPath, function: field.function))
        return query
    }

    /// Each with the records that its reference fields point at, under their names in `transient`.
    public func includingEveryReference() -> RecordQuery {
        including(Inclusion.everyReference)
    }

    /// With each included record once in the response, however many records include it.
    ///
    /// ```swift
    /// let films = try await database.query(RecordQuery("film").including("author").includingEachOnce())
    /// films.records[0].transient["author"]     // as without it
    /// films.included[try RecordID("person/9")]
    /// ```
    ///
    /// Responses are smaller where many records share a few others. A record has the fields that any of the inclusions which lead
    /// to its type asks for.
    public func includingEachOnce() -> RecordQuery {
        var query = self
        query.includeForm = .table
        return query
    }

    /// Each with the records that an array of references leads to, in `lists`, up to a limit for each.
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

    /// With these fields only, besides the reserved ones.
    public func selecting(_ fields: [String]) -> RecordQuery {
        var query = self
        query.desiredFields = fields
        return query
    }

    /// Without these fields, where no others were selected.
    public func omitting(_ fields: [String]) -> RecordQuery {
        var query = self
        query.omittedFields = fields
        return query
    }

    /// At most this many records (0 to 1000), after leaving out the first ones.
    public func limited(to limit: Int, offset: Int = 0) -> RecordQuery {
        var query = self
        query.limit = limit
        query.offset = offset
        return query
    }

    /// The page behind the place of a cursor, which a page of the same query had.
    public func after(_ cursor: String) -> RecordQuery {
        var query = self
        query.position = .after(cursor)
        return query
    }

    /// The page before the place of a cursor, which a page of the same query had.
    public func before(_ cursor: String) -> RecordQuery {
        var query = self
        query.position = .before(cursor)
        return query
    }

    /// The last page, of this many records; without a sort those that were made last.
    public func last(_ count: Int) -> RecordQuery {
        var query = self
        query.position = .last
        query.limit = count
        return query
    }

    /// Failing with `110 ResourceNotFound` when no record matches.
    public func required() -> RecordQuery {
        var query = self
        query.isRequired = true
        return query
    }

    /// With the number of all records that match, or an estimate of it, which costs less.
    public func counted(_ counting: Counting = .exact) -> RecordQuery {
        var query = self
        query.counting = counting
        return query
    }
}
