internal import SkyrowModel

extension Resolver {
    /// Returns the order of a query: its sort, else that of `near`'s distances, else that of ids, or of creation for a last
    /// page.
    mutating func order(of query: RecordQuery) throws(SkyrowError) -> [ResolvedSort] {
        if let orderByDistance { return orderByDistance }
        guard query.sort.isEmpty, query.position == .last else { return try sort(query.sort) }
        return creationOrder
    }

    /// The order by the distances of the predicate's `near`, if there is one and no other order is given.
    var orderByDistance: [ResolvedSort]? {
        nearest.map { column in
            var distance = ResolvedSort(column)
            distance.isPresent = true
            return [distance, ResolvedSort(idColumn)]
        }
    }

    /// The order in which the records were created.
    package var creationOrder: [ResolvedSort] {
        [ResolvedSort(ResolvedColumn(place: .metadata(.createdAt), kind: .datetime)), ResolvedSort(idColumn)]
    }

    /// Throws `108 InvalidArgument` for an invalid page.
    func checkPage(of query: RecordQuery) throws(SkyrowError) {
        guard query.offset <= RecordQuery.maximumOffset else {
            throw .invalidArgument(
                "The offset can be at most \(RecordQuery.maximumOffset); continue from \"info.cursor\" with \"after\".",
                "offset",
                "after"
            ).at("offset")
        }
        if query.isRequired, query.limit == 0 {
            throw .invalidArgument("\"required\" cannot be combined with a limit of 0.", "required").at("required")
        }
        guard query.position.cursor != nil else { return }
        guard query.offset == 0 else {
            throw .invalidArgument("A page that begins at a cursor cannot have an offset.", "offset").at("offset")
        }
        guard query.sort.count <= RecordQuery.maximumCursorKeys else {
            throw .invalidArgument(
                "A query that is paged with cursors can have at most \(RecordQuery.maximumCursorKeys) sort keys.",
                "sort"
            ).at(RecordQuery.maximumCursorKeys).at("sort")
        }
    }
}
