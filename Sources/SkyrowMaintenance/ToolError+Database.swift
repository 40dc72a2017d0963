import SkyrowModel
import SkyrowPostgres
package import SkyrowSystem

extension ToolError {
    /// Makes the error for a failed database operation.
    package init(databaseFailure error: any Error) {
        if let error = error as? ToolError {
            self = error
        } else if let error = error as? PostgresError {
            // The server's message may be shown: the terminal is the operator's.
            let reason = error.message.map { "\(error): \($0)" } ?? "\(error)"
            let sentence = "PostgreSQL is not usable: \(reason)"
            self =
                switch error.code {
                case .cannotConnect, .acquireTimeout, .connectionLost: .unavailable(sentence)
                case .server, .statementTimeout, .overloaded, .indeterminateCommit, .shutDown, .invalidValue,
                    .resultTooLarge,
                    .resultMemoryExhausted, .undecodable,
                    .misuse:
                    .failure(sentence)
                }
        } else if let error = error as? SkyrowError {
            self = .failure(error.message)
        } else {
            self = .failure("\(error)")
        }
    }
}
