import ServiceLifecycle
import SkyrowActions
import SkyrowConcurrency
import SkyrowPostgres

/// The connections to PostgreSQL, which a graceful shutdown lets finish what they have accepted.
struct DatabaseService: Service {
    let client: PostgresClient

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await client.run()
        } onGracefulShutdown: {
            client.shutDown()
        }
    }
}

/// Opens the default application, then lets its dependent services start, and follows changes of the applications.
struct ApplicationsService: Service {
    let applications: Applications
    /// Whether the application was opened; settled when it is or fails.
    let isOpen = Deferred<Bool>()

    init(_ applications: Applications) {
        self.applications = applications
    }

    func run() async throws {
        defer { isOpen.settle(false) }
        try await applications.prepare()
        isOpen.settle(true)
        try await applications.run()
    }
}

/// A service that starts when the default application is open.
struct PreparedService: Service {
    private let base: any Service
    private let isOpen: Deferred<Bool>

    init(_ base: any Service, after applications: ApplicationsService) {
        self.base = base
        isOpen = applications.isOpen
    }

    func run() async throws {
        guard await cancelWhenGracefulShutdown({ await isOpen.value(ifCancelled: false) }) else {
            // The application did not open, so the group is about to shut down.
            try? await gracefulShutdown()
            return
        }
        try await base.run()
    }
}
