internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

extension RecordStore {
    /// Returns a page of the change feed: the changes that bring a client's copy of a query up to date.
    ///
    /// A pass starts with a snapshot and ends with its token: everything visible in the snapshot has been sent, in that state
    /// or a newer one. Throws `134 InvalidToken` for a text that is not a token or cursor of the query, `108`, `111`, `120` or
    /// `124` for an invalid request, `110 ResourceNotFound` for a dropped type, and database errors.
    ///
    /// - Parameters:
    ///   - retention: how long a token is valid.
    ///   - admit: called before records are read.
    package func changes(
        _ request: ChangesRequest,
        with access: RecordAccess,
        retention: Duration,
        admitting admit: QueryCost.Admission? = nil
    ) async throws(SkyrowError) -> ChangesResult {
        try await asking(request, with: access, retention: retention, admitting: admit) { feed, start in
            switch start {
            case .reset(let reason): ChangesResult(reset: reason)
            case .pass(let pass, let found, let isNew):
                try await feed.page(pass, moment: found.moment, isNew: isNew, hasNews: found.hasNews)
            }
        }
    }

    /// Returns a page of the ids and revisions of all matching records.
    ///
    /// Throws as ``changes(_:with:retention:admitting:)`` does.
    package func compare(
        _ request: ChangesRequest,
        with access: RecordAccess,
        retention: Duration,
        admitting admit: QueryCost.Admission? = nil
    ) async throws(SkyrowError) -> ComparedRecords {
        try await asking(request, with: access, retention: retention, admitting: admit) { feed, start in
            switch start {
            case .reset(let reason): ComparedRecords(reset: reason)
            case .pass(let pass, _, _): try await feed.pairs(pass)
            }
        }
    }

    /// Resolves the request and its starting position, then lets `body` respond.
    private func asking<Answer: Sendable>(
        _ request: ChangesRequest,
        with access: RecordAccess,
        retention: Duration,
        admitting admit: QueryCost.Admission?,
        _ body: @Sendable (FeedRun, FeedStart) async throws -> Answer
    ) async throws(SkyrowError) -> Answer {
        guard access.database != .union else {
            throw SkyrowError.invalidArgument(
                "The change feed requires the public database or a private one.",
                "database_id"
            )
        }
        try access.requireReading(request.query.type)
        let known = try ChangeToken(request.position)
        return try await reporting {
            try await withCatalog { _ in
                let type = request.query.type
                // The form covers all fields; access decides which of them the caller sees.
                let table = try await self.table(of: type)
                let statement = try table.map {
                    try ChangesStatement(
                        request.query,
                        table: $0.visible(to: access.fields),
                        catalog: self.cache.current.visible(to: access.fields),
                        access: access,
                        size: self.size(of: type)
                    )
                }
                if case .since = request.position, let table { try await self.requireFollowing(table) }
                if let statement { try await admit?(statement.cost) }
                // Most clients are up to date, which one statement finds out.
                var since: (token: ChangeToken, hasNews: SQL)?
                if let known, known.pass == nil, table == nil || !known.isOfAbsentTable {
                    let seen = known.transactions
                    since = (known, Self.hasNews(of: type, table, in: access.database, since: seen, self.schema))
                }
                let found = try await self.changeMoment(relationsOf: statement?.related, since: since)
                let moment = found.moment
                let present = ChangeToken(
                    place: moment.place,
                    takenAt: moment.takenAt,
                    transactions: moment.transactions,
                    audience: (statement?.audience ?? 0) ^ UInt64(bitPattern: found.relations),
                    scope: ChangesStatement.scope(of: type, in: access.database, self.schema),
                    query: statement?.query ?? 0,
                    form: table?.form ?? ChangeToken.Form(table: 0, columns: 0, digest: 0)
                )
                var isSameHistory = true
                if let known { isSameHistory = try await self.hasPassed(known.place, at: present.place) }
                let start = try FeedStart(
                    known,
                    present,
                    found,
                    table,
                    isSameHistory: isSameHistory,
                    retention: retention
                )
                return try await body(FeedRun(self, request, statement, access), start)
            }
        }
    }
}

extension ChangeToken {
    /// The token that a request continues from; nil for a first request. Throws `134` for any other text.
    fileprivate init?(_ position: ChangesRequest.Position) throws(SkyrowError) {
        let parameter: String
        let text: String
        switch position {
        case .start: return nil
        case .since(let token): (parameter, text) = ("since", token)
        case .cursor(let cursor): (parameter, text) = ("cursor", cursor)
        }
        guard let token = ChangeToken(text: text), (token.pass == nil) == (parameter == "since") else {
            throw .changeTokenInvalid(parameter)
        }
        self = token
    }

    /// nil for a text that is not a token.
    package init?(text: String) {
        guard text.utf8.count <= ChangeToken.maximumBytes / 3 * 4, let bytes = Base64URL.decode(text) else {
            return nil
        }
        self.init(bytes: bytes)
    }

    /// The form that clients receive.
    package var text: String { Base64URL.encode(bytes) }
}

/// How a request continues.
enum FeedStart: Sendable {
    /// Its token cannot be continued.
    case reset(LiveReset)
    /// The token of the end of the pass with the current position in it, and the snapshot; `isNew` if the pass starts here.
    case pass(ChangeToken, PresentMoment, isNew: Bool)

    /// - Parameters:
    ///   - known: the token in the request.
    ///   - present: a token of the present snapshot.
    ///   - isSameHistory: whether the token was made in this history of the database.
    ///
    /// Throws `134` for a token of another query and `110` for a token of a dropped type.
    init(
        _ known: ChangeToken?,
        _ present: ChangeToken,
        _ moment: PresentMoment,
        _ table: RecordTable?,
        isSameHistory: Bool,
        retention: Duration
    ) throws(SkyrowError) {
        guard let known else {
            var pass = present
            pass.pass = ChangeToken.Pass(step: .initial)
            self = .pass(pass, moment, isNew: true)
            return
        }
        let parameter = known.pass == nil ? "since" : "cursor"
        guard known.scope == present.scope else { throw .changeTokenInvalid(parameter) }
        if !known.isOfAbsentTable {
            guard let table else { throw SkyrowError(.resourceNotFound, "The record type no longer exists.") }
            guard table.continues(known.form, isSameBranch: isSameHistory) else {
                self = .reset(.schema)
                return
            }
            // The digest of a query depends on the rights, too: with other rights it says nothing.
            guard known.query == present.query || known.audience != present.audience else {
                throw .changeTokenInvalid(parameter)
            }
        }
        if !isSameHistory {
            self = .reset(.branch)
            return
        }
        if present.takenAt - known.oldest > retention.components.seconds {
            self = .reset(.expired)
            return
        }
        if !known.isOfAbsentTable, known.audience != present.audience {
            self = .reset(.access)
            return
        }
        var pass = present
        if known.isOfAbsentTable, table != nil {
            // The table may have been renamed to this name, with records that are older than the token.
            pass.pass = ChangeToken.Pass(step: .initial)
        } else if known.pass != nil {
            // The end of the pass was fixed when it started.
            pass.takenAt = known.takenAt
            pass.transactions = known.transactions
            pass.pass = known.pass
        } else {
            pass.pass = ChangeToken.Pass(
                step: .tombstones,
                base: ChangeToken.Pass.Base(transactions: known.transactions, takenAt: known.takenAt)
            )
        }
        self = .pass(pass, moment, isNew: known.pass == nil)
    }
}
