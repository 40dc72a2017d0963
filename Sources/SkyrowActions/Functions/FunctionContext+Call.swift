import SkyrowModel
import SkyrowProtocol

extension ActionService {
    /// Returns what a function server learns about the caller of a call, with a token for calls in the caller's name.
    func functionContext(of call: Call) -> FunctionContext {
        FunctionContext(
            userID: call.caller.userID,
            keyKind: call.caller.isMaster ? .master : call.credentials.key == nil ? nil : .client,
            requestID: call.origin.requestID,
            roles: call.caller.roles,
            depth: call.functionDepth + 1,
            clientAddress: call.origin.address
        )
    }
}
