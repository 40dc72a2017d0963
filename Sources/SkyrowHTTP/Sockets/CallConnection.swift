import SkyrowActions
import SkyrowModel

/// The connection on which calls are made, and whose caller may change.
protocol CallConnection: AnyObject, Sendable {
    /// Sets the caller of the connection from now on.
    ///
    /// Throws `131 RateLimited` when the user has too many connections, or `111 NotSupported` when the head of the request has
    /// determined the caller for good.
    func authenticate(
        as caller: Caller,
        _ sender: ActionDispatcher.Sender,
        of service: ActionService
    ) throws(SkyrowError)
}
