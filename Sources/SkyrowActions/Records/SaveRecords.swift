package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:save`: creates records and merges fields into existing ones.
    ///
    /// In this order: a caller who may not write at all is refused, items that may not be saved are refused one by one,
    /// types and fields that are missing are made for those that may, and then the store saves.
    ///
    /// - Parameter encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
    package func save(
        _ request: SaveRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult {
        try await observed(.recordSave) { () async throws(SkyrowError) in
            let scope = try writableScope(request.database, caller: caller)
            guard !request.items.isEmpty else {
                throw .invalidArgument("Send at least one record.", "records")
            }
            if request.isAtomic { try request.refuseUndecodableItems() }
            let claim = try IdempotencyClaim(
                key: request.idempotencyKey,
                action: .recordSave,
                database: request.database,
                isAtomic: request.isAtomic,
                request: request.fingerprintSource,
                caller: caller
            )
            let judged = try await refusingMixedScripts(
                request.itemsAllowingForProfiles(in: scope, loginKeys: store.loginKeys),
                in: scope,
                caller: caller,
                isAtomic: request.isAtomic
            )
            if let claim, try store.lacksSchema(for: judged), let result = try await replay(of: claim) { return result }
            // A field can be dropped between making room for it and saving: nothing is written then, and both are done again.
            for _ in 1..<Self.attemptsAtMovingSchema {
                do throws(SkyrowError) {
                    return try await save(judged, of: request, in: scope, by: caller, under: claim, encode: encode)
                } catch {
                    guard error == .schemaMoved else { throw error }
                }
            }
            return try await save(judged, of: request, in: scope, by: caller, under: claim, encode: encode)
        }
    }

    /// So often is a save tried whose fields are dropped meanwhile.
    private static let attemptsAtMovingSchema = 100

    /// Makes room for the items and saves them; throws `schemaMoved` when the room was gone again before that.
    private func save(
        _ items: [SaveRequest.Item],
        of request: SaveRequest,
        in scope: DatabaseScope,
        by caller: Caller,
        under claim: IdempotencyClaim?,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult {
        let items = try await createMissingSchema(for: items, in: scope, caller: caller, isAtomic: request.isAtomic)
        guard let claim else {
            let outcomes = try await store.reporting {
                try await store.save(items, in: scope, caller: caller, atomic: request.isAtomic, fitsSchema: true)
            }
            return .outcomes(outcomes)
        }
        return try await once(claim, encode: encode) { transaction in
            try await self.store.save(
                items,
                in: scope,
                caller: caller,
                atomic: request.isAtomic,
                fitsSchema: true,
                transaction: transaction
            )
        }
    }

    /// The rows a write works on; refuses anonymous callers with `101`, and with `111` the union of all databases.
    func writableScope(_ database: DatabaseName, caller: Caller) throws(SkyrowError) -> DatabaseScope {
        guard caller.isMaster || caller.userID != nil else {
            throw SkyrowError(.notAuthenticated, "Log in first.")
        }
        let scope = try DatabaseScope(database, caller: caller)
        guard scope != .union else {
            throw SkyrowError(.notSupported, "The database _union is for reading only.")
        }
        return scope
    }
}

extension SaveRequest {
    /// Refuses an atomic request of which an item could not be read: `108`, with the errors in the order of the items.
    fileprivate func refuseUndecodableItems() throws(SkyrowError) {
        let errors = items.compactMap { item -> SkyrowError? in
            switch item {
            case .draft: nil
            case .failure(let error, _): error
            }
        }
        guard errors.isEmpty else {
            throw SkyrowError(
                .invalidArgument,
                "Nothing was saved, because some of the records could not be read.",
                info: ["arguments": .list([.string("records")]), "errors": .list(errors.map { .error($0) })]
            )
        }
    }
}
