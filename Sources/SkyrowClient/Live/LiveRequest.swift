import SkyrowModel
import SkyrowProtocol

/// The call that starts a subscription.
enum LiveRequest: Sendable {
    case subscribe(LiveSubscribeRequest)
    /// A watched query has no tokens, since its result is small and is sent again as a whole.
    case watch(LiveWatchRequest)

    /// Returns the call with the name of the subscription and the position from which it starts.
    func named(_ name: String, from start: LiveStart) -> LiveRequest {
        switch self {
        case .subscribe(var request):
            request.name = name
            switch start {
            case .anew: request.since = nil
            case .since(let token):
                request.since = token
                request.sendsInitial = false
            }
            return .subscribe(request)
        case .watch(var request):
            request.name = name
            return .watch(request)
        }
    }
}
