package import SkyrowJSON
package import SkyrowModel

/// The JSON of calls of function servers and of their answers, in both dialects.
///
/// ```swift
/// let body = FunctionEnvelope.skyrow.text(of: call, time: .seconds(5), links: nil)
/// let answer = try FunctionEnvelope.skyrow.answer(responseBody, to: call)
/// ```
package struct FunctionEnvelope: Sendable {
    package let dialect: FunctionDialect

    package init(_ dialect: FunctionDialect) {
        self.dialect = dialect
    }

    /// Returns the body of the request.
    ///
    /// - Parameters:
    ///   - time: The time that the call has left.
    ///   - links: Makes the addresses of files; nil for none.
    package func text(of call: FunctionCall, time: Duration, links: (any AssetLinks)?) -> [UInt8] {
        fatalError("contract")
    }

    /// Reads the body of a response.
    ///
    /// Throws the error that the function returned, with its code, message and info; `10000 UnexpectedError` for what is no answer.
    package func answer(_ bytes: UnsafeRawBufferPointer, to call: FunctionCall) throws(SkyrowError) -> FunctionAnswer {
        fatalError("contract")
    }
}

extension FunctionRegistration {
    /// Reads the answer to `init`, which determines the dialect. Throws what is wrong with it, naming the entry.
    ///
    /// - Parameter actions: The names of actions that no function may have.
    package init(answer bytes: UnsafeRawBufferPointer, reserved actions: Set<String>) throws(RegistrationFault) {
        fatalError("contract")
    }

    /// The registration as it is stored: the answer to `init` in the dialect `skyrow/1`, with the dialect beside it.
    package var stored: JSONText { fatalError("contract") }

    /// Reads the stored form; nil for what another version wrote.
    package init?(stored: JSONText) {
        fatalError("contract")
    }
}

/// What is wrong with the answer of a function server to `init`, for the operator.
package struct RegistrationFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
