import SkyrowModel

/// The call that begins a subscription.
enum LiveRequest: Sendable {
    case subscribe(LiveSubscribeRequest)
    /// It has no tokens: its result is small, and comes again as a whole.
    case watch(LiveWatchRequest)

    /// The call under a name, from where it goes on.
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
