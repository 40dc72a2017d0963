package import SkyrowModel
package import SkyrowProtocol

extension ActionService {
    /// Makes a registration the one of its server, in this process.
    package func register(_ registration: FunctionRegistration, of server: String) async throws(SkyrowError) {
        functions.replace(FunctionRegistry(servers: [(server, registration)], database: []))
    }
}
