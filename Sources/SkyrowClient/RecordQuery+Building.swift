public import SkyrowModel

extension RecordQuery {
    /// A query for all records of a type; throws `108 InvalidArgument` when the text is no name.
    ///
    /// ```swift
    /// let query = try RecordQuery("movie")
    ///     .filter(Field("year") >= 1990)
    ///     .sorted(by: "rating", .descending)
    ///     .limited(to: 20)
    /// ```
    public init(_ type: String) throws(SkyrowError) {
        self.init(type: try RecordTypeName(type))
    }

    /// Only records for which this holds too.
    public func filter(_ predicate: RecordPredicate) -> RecordQuery {
        var query = self
        query.predicate = self.predicate.map { $0 && predicate } ?? predicate
        return query
    }

    /// Sorted by a key path, after the keys that the query already has.
    public func sorted(by path: String, _ direction: SortKey.Direction = .ascending) -> RecordQuery {
        var query = self
        query.sort.append(SortKey(Field(path).keyPath, direction))
        return query
    }

    /// Each with the record that a reference field points at, under the field's name or another in `transient`.
    public func including(_ path: String, as name: String? = nil) -> RecordQuery {
        var query = self
        query.include.append(Inclusion(name: name ?? path, keyPath: Field(path).keyPath))
        return query
    }

    /// With these fields only, besides the reserved ones.
    public func selecting(_ fields: [String]) -> RecordQuery {
        var query = self
        query.desiredFields = fields
        return query
    }

    /// At most this many records (0 to 1000), after leaving out the first ones.
    public func limited(to limit: Int, offset: Int = 0) -> RecordQuery {
        var query = self
        query.limit = limit
        query.offset = offset
        return query
    }

    /// With the number of all records that match.
    public func counted() -> RecordQuery {
        var query = self
        query.countsMatches = true
        return query
    }
}
