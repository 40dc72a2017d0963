internal import SkyrowModel

extension Resolver {
    /// The order of a query: its sort, else that of the distances from what the records are near to, else that of the ids, and
    /// that of creation for a page of the last records.
    mutating func order(of query: RecordQuery) throws(SkyrowError) -> [ResolvedSort] {
        if let orderByDistance { return orderByDistance }
        guard query.sort.isEmpty, query.position == .last else { return try sort(query.sort) }
        return creationOrder
    }

    /// The order of the distances from what the records are near to, where the predicate says that and nothing says another.
    var orderByDistance: [ResolvedSort]? {
        nearest.map { column in
            var distance = ResolvedSort(column)
            distance.isPresent = true
            return [distance, ResolvedSort(idColumn)]
        }
    }

    /// The records in the order in which they were made.
    package var creationOrder: [ResolvedSort] {
        [ResolvedSort(ResolvedColumn(place: .metadata(.createdAt), kind: .datetime)), ResolvedSort(idColumn)]
    }

    /// Throws `108 InvalidArgument` for a page that cannot be asked for.
    func checkPage(of query: RecordQuery) throws(SkyrowError) {
        guard query.offset <= RecordQuery.maximumOffset else {
            throw .invalidArgument(
                "An offset is \(RecordQuery.maximumOffset) at most; go on from \"info.cursor\" with \"after\".",
                "offset",
                "after"
            ).at("offset")
        }
        if query.isRequired, query.limit == 0 {
            throw .invalidArgument("A page of no records cannot be required to have some.", "required").at("required")
        }
        guard query.position.cursor != nil else { return }
        guard query.offset == 0 else {
            throw .invalidArgument("A page that begins at a cursor has no offset.", "offset").at("offset")
        }
        guard query.sort.count <= RecordQuery.maximumCursorKeys else {
            throw .invalidArgument(
                "A query that is paged with cursors has at most \(RecordQuery.maximumCursorKeys) sort keys.",
                "sort"
            ).at(RecordQuery.maximumCursorKeys).at("sort")
        }
    }
}
