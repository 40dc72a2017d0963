/// The function servers of an application.
package struct FunctionConfiguration: Sendable {
    package var runner: any FunctionRunner
    /// The names of the servers, in the order of the settings.
    package var servers: [String]

    package init(runner: any FunctionRunner, servers: [String]) {
        self.runner = runner
        self.servers = servers
    }
}
