import SkyrowActions
import SkyrowModel

/// Finds what performs the calls of a request: the actions of its application.
struct ApplicationFinder: Sendable {
    enum Found: Sendable {
        case ready(ActionDispatcher)
        /// It has to be opened first (``ApplicationFinder/opened(_:)``).
        case resting(ApplicationName)
    }

    private let applications: Applications
    /// Refuses what no application takes.
    private let standard: ActionService
    /// The text of the `Host` field.
    private let host: String?

    init(_ applications: Applications, standard: ActionService, host: String?) {
        self.applications = applications
        self.standard = standard
        self.host = host
    }

    /// What performs the calls of a request; for a key that no application takes it refuses all of them.
    func find(_ credentials: Credentials) -> Found {
        do throws(SkyrowError) {
            switch try applications.find(key: credentials.key, host: host) {
            case .open(let actions): return .ready(ActionDispatcher(service: actions))
            // Nothing is opened for a request that may do nothing.
            case .resting where credentials.isEmpty: return .ready(ActionDispatcher(service: standard))
            case .resting(let name): return .resting(name)
            }
        } catch {
            return .ready(ActionDispatcher(service: standard, refusal: error))
        }
    }

    /// The same for an application that has to be opened.
    func opened(_ name: ApplicationName) async -> ActionDispatcher {
        do throws(SkyrowError) {
            return ActionDispatcher(service: try await applications.open(name))
        } catch {
            return ActionDispatcher(service: standard, refusal: error)
        }
    }

    /// Finds it and opens it if need be.
    func dispatcher(_ credentials: Credentials) async -> ActionDispatcher {
        switch find(credentials) {
        case .ready(let dispatcher): dispatcher
        case .resting(let name): await opened(name)
        }
    }
}

extension Credentials {
    /// Whether there is neither a key nor a token.
    fileprivate var isEmpty: Bool {
        (key ?? "").isEmpty && (accessToken ?? "").isEmpty && sessionHash == nil
    }
}
