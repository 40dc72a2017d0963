import SkyrowActions
import SkyrowModel

/// What calls of one connection have in common: whose it is.
protocol CallConnection: AnyObject, Sendable {
    /// Says who calls from here on.
    ///
    /// Throws `131 RateLimited` when the user has too many connections, or `111 NotSupported` where the head of the request has
    /// said it for good.
    func authenticate(
        as caller: Caller,
        _ sender: ActionDispatcher.Sender,
        of service: ActionService
    ) throws(SkyrowError)
}
