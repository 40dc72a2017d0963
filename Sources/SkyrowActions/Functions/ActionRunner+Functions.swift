package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

extension ActionRunner {
    /// Returns the action of a function of the application; nil for an unknown name.
    package func function(_ name: String) -> (any AnyEntry)? { service.functions.registry.entry(of: name) }

    /// The same by a name of the v1 envelope, where the path `/hello/world` is `hello:world` or `hello/world`.
    package func function(v1 name: String) -> (any AnyEntry)? { service.functions.registry.entry(v1: name) }

    /// The functions of the application that are called by their names, sorted: a built-in action keeps its name.
    package var functions: [FunctionDescription] {
        service.functions.registry.functions.map(\.function.description)
            .filter { !ActionTable.reservedNames.contains($0.name.rawValue) }
    }

    /// Ends a sentence about an unknown name of an action or function with the nearest one (``ActionTable/suggestion(for:besides:)``).
    package func suggestion(for name: String) -> String {
        ActionTable.suggestion(
            for: name,
            besides: service.functions.registry.functions.map(\.function.description.name.rawValue)
        )
    }

    /// Whether the deadlines of requests matter, since functions or hooks have them.
    package var usesDeadlines: Bool { service.functions.runner != nil }

    /// Whether the application has HTTP handlers.
    package var hasHandlers: Bool { service.functions.hasHandlers }

    /// Returns the HTTP handler of a path; nil without one.
    package func handler(of path: String) -> FunctionRegistry.Handler? { service.functions.registry.handler(of: path) }

    /// Has a handler respond to an HTTP request, for a caller who may call it.
    ///
    /// The request counts as a call of `function:call`.
    package func respond(
        to request: HandlerRequest,
        by handler: FunctionRegistry.Handler,
        from sender: Sender,
        deadline: ContinuousClock.Instant?,
        id: RequestID
    ) async -> (response: Result<HandlerResponse, SkyrowError>, userID: UserID?) {
        let description = handler.description.need.description(isReadOnly: false)
        var caller: Caller?
        do throws(SkyrowError) {
            let known = try await self.caller(of: sender, for: description, id: id)
            caller = known
            try await service.requireStepUp(for: description, isAsked: false, by: known, with: sender.credentials)
            let call = Call(
                by: known,
                with: sender.credentials,
                client: sender.client,
                from: sender.origin(of: id),
                rules: .v1,
                deadline: deadline,
                functionDepth: service.callToken(of: sender.credentials)?.depth ?? 0
            )
            let response = try await service.observed(description) { () async throws(SkyrowError) in
                try await service.handle(request, by: handler, call)
            }
            return (.success(response), known.userID)
        } catch {
            return (.failure(error.reported(as: id)), caller?.userID)
        }
    }
}

extension ActionService {
    fileprivate func handle(
        _ request: HandlerRequest,
        by handler: FunctionRegistry.Handler,
        _ call: Call
    ) async throws(SkyrowError) -> HandlerResponse {
        try await require(handler.description.need, of: call)
        try requireDepth(call)
        let answer = try await functions.call(
            FunctionCall(.handler(request), of: handler.server, context: functionContext(of: call)),
            deadline: call.deadline
        )
        // 1xx is no final response.
        guard case .handler(let response) = answer, (200...599).contains(response.status) else { throw .unexpected }
        return response
    }
}
