import SkyrowActions
import SkyrowModel

/// Finds the runner of the calls of a request, which belongs to the request's application.
struct ApplicationFinder: Sendable {
    enum Found: Sendable {
        case ready(ActionRunner)
        /// The application must be opened first (``ApplicationFinder/opened(_:)``).
        case resting(ApplicationName)
    }

    private let applications: Applications
    /// The actions of the default application, for requests of no known application.
    private let standard: ActionService
    /// The value of the `Host` field.
    private let host: String?

    init(_ applications: Applications, standard: ActionService, host: String?) {
        self.applications = applications
        self.standard = standard
        self.host = host
    }

    /// Finds the runner for a request; for a key of no application it refuses all calls.
    func find(_ credentials: Credentials) -> Found {
        do throws(SkyrowError) {
            switch try applications.find(key: credentials.key, host: host) {
            case .open(let actions): return .ready(ActionRunner(service: actions))
            // No application is opened for a request without credentials.
            case .resting where credentials.isEmpty: return .ready(ActionRunner(service: standard))
            case .resting(let name): return .resting(name)
            }
        } catch {
            return .ready(ActionRunner(service: standard, refusal: error))
        }
    }

    /// Opens an application and returns its runner.
    func opened(_ name: ApplicationName) async -> ActionRunner {
        do throws(SkyrowError) {
            return ActionRunner(service: try await applications.open(name))
        } catch {
            return ActionRunner(service: standard, refusal: error)
        }
    }

    /// Finds the runner, and opens its application if necessary.
    func runner(_ credentials: Credentials) async -> ActionRunner {
        switch find(credentials) {
        case .ready(let runner): runner
        case .resting(let name): await opened(name)
        }
    }
}

extension Credentials {
    /// Whether there is neither a key nor a token.
    fileprivate var isEmpty: Bool { (key ?? "").isEmpty && (accessToken ?? "").isEmpty && sessionHash == nil }
}
