package import SkyrowModel
package import SkyrowProtocol

/// Calls function servers.
package protocol FunctionRunner: Sendable {
    /// Calls a function server.
    ///
    /// Throws the error that the function returned, `118 PluginUnavailable` if the server is down, `121 PluginInitializing` if it
    /// starts, `119 PluginTimeout` if it takes too long, `135 Overloaded` if too many calls wait, and `10000 UnexpectedError` for
    /// what is no answer.
    ///
    /// - Parameter deadline: When the request ends; nil for the bounds of the call and of its server alone.
    func call(_ call: FunctionCall, deadline: ContinuousClock.Instant?) async throws(SkyrowError) -> FunctionAnswer

    /// The states of the function servers, in any order.
    var states: [(server: String, state: FunctionServerState)] { get }
}

/// The state of a function server in this process.
package enum FunctionServerState: Hashable, Sendable {
    /// It has not answered `init` yet.
    case starting
    case ready
    /// It does not answer; the text says why.
    case down(String)
    /// Its registration is refused; the text says why.
    case refused(String)
}
