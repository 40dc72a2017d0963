package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:transfer`: one outcome for each id, in the order of the request.
    package func transfer(
        _ request: TransferRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> [RecordOutcome] {
        try await observed(.recordTransfer) { () async throws(SkyrowError) in
            let access = try recordAccess(to: .everyone, for: .writing, by: caller)
            let event = AuditEvent(.transfer, by: AuditEvent.Actor(caller), from: origin)
            return try await store.transfer(request, with: access, recording: event)
        }
    }
}
