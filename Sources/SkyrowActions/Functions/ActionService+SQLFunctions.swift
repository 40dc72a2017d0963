import SkyrowModel
import SkyrowProtocol

extension ActionService {
    /// Calls a function of the database.
    func answer(
        _ function: SQLFunction,
        arguments: JSONText?,
        query: JSONText?,
        _ call: Call
    ) async throws(SkyrowError) -> ResultWriter {
        throw SkyrowError(.notSupported, "This version calls no functions of the database.")
    }
}
