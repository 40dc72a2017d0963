package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:save`: creates records and merges fields into existing ones.
    ///
    /// In this order: a caller who may not write at all is refused, items that may not be saved are refused one by one,
    /// and the store saves the others; where types and fields are missing, these are made first.
    ///
    /// - Parameters:
    ///   - own: those of the request, by which a save that changes login keys is judged.
    ///   - encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
    package func save(
        _ request: SaveRequest,
        by caller: Caller,
        with own: Credentials = Credentials(),
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        try await observed(.recordSave) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .writing, by: caller)
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
            let permitted = try await applyingTypeRules(to: request.items, with: access, isAtomic: request.isAtomic)
            let judged = try await keepingLoginKeys(
                of: permitted,
                with: access,
                by: caller,
                own,
                isAtomic: request.isAtomic
            )
            // Whether the types and fields are there is found out with the first attempt, which writes nothing where they are
            // not. A field can be dropped between making it and saving, so that may be so more than once.
            var items = judged
            var attempt = 1
            while true {
                do throws(SkyrowError) {
                    return try await save(items, of: request, with: access, under: claim, encode: encode)
                } catch {
                    guard error == .schemaMoved, attempt < Self.attemptsAtMovingSchema else { throw error }
                }
                attempt += 1
                guard try store.lacksSchema(for: judged) else { continue }
                // What is created for a request that was completed already would only be left over.
                if let claim, let result: WriteResult<[RecordOutcome]> = try await replay(of: claim) { return result }
                items = try await createMissingSchema(for: judged, with: access, isAtomic: request.isAtomic)
            }
        }
    }

    /// So often is a save tried whose fields are dropped meanwhile.
    private static let attemptsAtMovingSchema = 100

    /// Saves items that fit the schema; throws `schemaMoved` when they do not, before anything is written.
    private func save(
        _ items: [SaveRequest.Item],
        of request: SaveRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        guard let claim else {
            let outcomes = try await store.save(items, with: access, atomic: request.isAtomic, fitsSchema: true)
            return .fresh(request.returned(noteRefusals(in: outcomes), of: items))
        }
        return try await once(claim, encode: encode) { transaction throws(SkyrowError) in
            let outcomes = try await self.store.save(
                items,
                with: access,
                atomic: request.isAtomic,
                fitsSchema: true,
                transaction: transaction
            )
            return request.returned(noteRefusals(in: outcomes), of: items)
        }
    }
}

extension SaveRequest {
    /// The outcomes with as much of each record as the request asks for.
    fileprivate func returned(_ outcomes: [RecordOutcome], of items: [SaveRequest.Item]) -> [RecordOutcome] {
        switch returnedMembers {
        case .record: return outcomes
        case .changed:
            return zip(items, outcomes).map { item, outcome in
                guard case .record(let record) = outcome else { return outcome }
                return .record(ChangedMembers(of: record, fields: item.draft?.operators.map(\.name) ?? []))
            }
        }
    }

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
