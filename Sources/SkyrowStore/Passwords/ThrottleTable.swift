package import SkyrowModel
internal import SkyrowPostgres

/// Guesses of passwords. All processes of an application count them together, before the password is checked.
///
/// The key of a row is an HMAC of what was sent, so rows name no account, and an unknown account has rows like any other.
package struct ThrottleTable: StoreTable, Sendable {
    let store: RecordStore

    /// Upper bound on rows. Rows above it are removed, those first whose pause has been over for longest.
    package static let maximumRows = 100_000

    /// Counts a guess in all buckets that limit it, or in no bucket if one of them refuses it.
    package func claim(_ source: GuessSource, _ limits: GuessLimits) async throws(SkyrowError) -> GuessAdmission {
        let (counted, known) = GuessBucket.buckets(of: source, limits)
        guard !counted.isEmpty else { return .claimed(GuessClaim(buckets: [], pauses: [], allowed: [], known: [])) }
        return try await store.reporting {
            let hashed = try await hashed(counted + known)
            let columns = Columns(
                { (wait: Double?, isKnown: Bool?, buckets: [[UInt8]], known: [[UInt8]]) -> GuessAdmission in
                    if let wait { return .refused(wait: .milliseconds(Int64((wait * 1000).rounded(.up)))) }
                    let places = counted.indices.filter { !counted[$0].unlessKnown || isKnown != true }
                    return .claimed(
                        GuessClaim(
                            buckets: places.map { buckets[$0] },
                            pauses: places.map { counted[$0].pauses },
                            allowed: places.map { counted[$0].allowed },
                            known: known
                        )
                    )
                },
                "claim.wait",
                "claim.is_known",
                "given.buckets",
                "given.known"
            )
            let admissions = try await store.client.write(
                """
                SELECT \(columns.list)
                FROM (
                    SELECT array_agg(part.bucket ORDER BY part.place) FILTER (WHERE part.place <= \(Int64(counted.count))) AS buckets,
                        coalesce(
                            array_agg(part.bucket ORDER BY part.place) FILTER (WHERE part.place > \(Int64(counted.count))), '{}'
                        ) AS known
                    FROM (\(hashed)) AS part
                ) AS given
                CROSS JOIN LATERAL \(schema)._claim_guess(
                    given.buckets, \(counted.map(\.pauses)), \(counted.map(\.allowed)), \(counted.map(\.seconds)),
                    \(counted.map(\.unlessKnown)), given.known
                ) AS claim
                """
            ).rows(columns)
            guard let admission = admissions.first else { throw SkyrowError.unexpected }
            return admission
        }
    }

    /// Selects the keys of the buckets' rows, with the positions of the buckets.
    private func hashed(_ buckets: [GuessBucket]) async throws -> SQL {
        let (inner, outer) = try await store.guessKeys()
        let zero: SQL = "'\\x00'::bytea"
        return """
            SELECT part.place,
                sha256(\(outer) || sha256(\(inner) || convert_to(part.kind, 'UTF8') || \(zero)
                    || convert_to(part.name, 'UTF8') || \(zero)
                    || convert_to(\(schema)._login_canonical(part.value), 'UTF8') || \(zero) || part.origin)) AS bucket
            FROM unnest(
                \(buckets.map(\.kind.rawValue)), \(buckets.map(\.account.key)), \(buckets.map(\.account.value)),
                \(buckets.map(\.from))
            ) WITH ORDINALITY AS part (kind, name, value, origin, place)
            """
    }

    /// Returns whether the user of an account has logged in from this client within 30 days.
    package func isKnown(_ source: GuessSource) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let hashed = try await hashed(GuessBucket.known(source))
            return try await store.client.read(
                """
                SELECT EXISTS (
                    SELECT FROM \(schema.internal)._known_client AS client
                    JOIN (\(hashed)) AS part ON part.bucket = client.bucket
                    WHERE client.seen_at > now() - interval '30 days'
                )
                """
            ).decode(row: 0, column: 0)
        }
    }

    /// Records that the user of an account has logged in from this client.
    package func remember(_ source: GuessSource, of user: UserID) async throws(SkyrowError) {
        try await store.reporting {
            let hashed = try await hashed(GuessBucket.known(source))
            _ = try await store.client.write(
                "SELECT \(schema)._remember_client(ARRAY(SELECT part.bucket FROM (\(hashed)) AS part), \(user))"
            )
        }
    }

    /// Settles a correct guess: its client is known from now on, and has no pause.
    package func succeed(_ claim: GuessClaim, by user: UserID) async throws(SkyrowError) {
        guard !claim.buckets.isEmpty || !claim.known.isEmpty else { return }
        try await store.write(
            """
            SELECT \(schema)._settle_guess(\(claim.buckets), \(claim.pauses), \(claim.allowed), true),
                \(schema)._remember_client(\(claim.known), \(user))
            """
        )
    }

    /// Withdraws a guess that was not checked, so that it does not count.
    package func withdraw(_ claim: GuessClaim) async throws(SkyrowError) {
        guard !claim.buckets.isEmpty else { return }
        try await store.write(
            "SELECT \(schema)._settle_guess(\(claim.buckets), \(claim.pauses), \(claim.allowed), false)"
        )
    }

    /// Removes expired rows, and rows above the bound; returns how many rows are left.
    package func sweep(keeping bound: Int = ThrottleTable.maximumRows) async throws(SkyrowError) -> Int {
        try await store.write(
            """
            DELETE FROM \(schema.internal)._throttle WHERE bucket IN (
                SELECT throttle.bucket FROM \(schema.internal)._throttle AS throttle
                WHERE throttle.blocked_until < now() - interval '15 min' AND throttle.window_start < now() - interval '25 h'
                FOR UPDATE SKIP LOCKED
            )
            """
        )
        try await store.write("DELETE FROM \(schema.internal)._known_client WHERE seen_at < now() - interval '30 days'")
        let count: Int = try await store.value(reading: "SELECT count(*) FROM \(schema.internal)._throttle") ?? 0
        guard count > bound else { return count }
        return try await count
            - store.write(
                """
                DELETE FROM \(schema.internal)._throttle WHERE bucket IN (
                    SELECT held.bucket FROM \(schema.internal)._throttle AS held WHERE held.bucket IN (
                        SELECT throttle.bucket FROM \(schema.internal)._throttle AS throttle
                        ORDER BY throttle.blocked_until DESC, throttle.bucket OFFSET \(bound)
                    )
                    FOR UPDATE SKIP LOCKED
                )
                """
            )
    }
}

/// The two blocks into which the key of an HMAC-SHA-256 is padded (RFC 2104), for PostgreSQL, which has the hash only.
struct HMACBlocks: Hashable, Sendable {
    let inner: [UInt8]
    let outer: [UInt8]

    /// - Parameter key: at most 64 bytes.
    init(key: [UInt8]) {
        let block = key.prefix(64) + [UInt8](repeating: 0, count: max(0, 64 - key.count))
        inner = block.map { $0 ^ 0x36 }
        outer = block.map { $0 ^ 0x5C }
    }
}
