package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:save`: creates records and merges fields into existing ones.
    ///
    /// Refuses a caller who may not write at all, then individual items that may not be saved; the store saves the others, after
    /// missing types and fields are created.
    ///
    /// - Parameters:
    ///   - own: the credentials of the request, which a save that changes login keys is checked with.
    ///   - encode: encodes the result; called only with an idempotency key, inside the transaction.
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
            // The first attempt shows whether types and fields are missing, and writes nothing then. A field can be dropped
            // between its creation and the save, so this may repeat.
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
                // The schema for a request that was completed already would be left over.
                if let claim, let result: WriteResult<[RecordOutcome]> = try await replay(of: claim) { return result }
                items = try await createMissingSchema(for: judged, with: access, isAtomic: request.isAtomic)
            }
        }
    }

    /// Upper bound on the attempts of a save whose fields are dropped meanwhile.
    private static let attemptsAtMovingSchema = 100

    /// Saves items that fit the schema; throws `schemaMoved` if they do not, before anything is written.
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
    /// Returns the outcomes with the members that the request selects of each record.
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

    /// Refuses an atomic request with undecodable items: `108`, with the errors in the order of the items.
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
