import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote

extension FunctionFailure {
    /// Returns the error as callers see it: of an exception, only the id of the request.
    ///
    /// - Parameter isDevelopment: Whether the messages of exceptions are shown.
    func shown(requestID: String?, isDevelopment: Bool) -> SkyrowError {
        guard error.code == .unexpectedError else { return error }
        let info: [String: ErrorInfo] = requestID.map { ["request_id": .string($0)] } ?? [:]
        return SkyrowError(.unexpectedError, (isDevelopment ? detailed : error).message, info: info)
    }
}

/// The errors of calls that have no response.
enum CallFailure {
    /// Returns the error of a call without a response.
    static func error(_ fault: FunctionFault, requestID: String? = nil) -> SkyrowError {
        switch fault {
        case .unreachable:
            SkyrowError(.pluginUnavailable, "The function server does not answer; try again in a moment.")
        case .lost:
            SkyrowError(.pluginUnavailable, "The function server ended during the call; what it did is unknown.")
        case .late:
            SkyrowError(.pluginTimeout, "The function took too long; what it did is unknown.")
        case .tooLarge, .unreadable:
            FunctionFailure(malformed: "").shown(requestID: requestID, isDevelopment: false)
        case .cancelled:
            SkyrowError(.responseTimeout, "The request was cancelled while the function ran.")
        }
    }

    /// Returns the error of a call in this state; nil if calls are possible.
    static func error(_ state: FunctionServerState) -> SkyrowError? {
        switch state {
        case .ready: nil
        case .starting: SkyrowError(.pluginInitializing, "The function server is starting; try again in a moment.")
        case .down, .refused: error(.unreachable(""))
        }
    }
}

extension FunctionFault {
    /// The fault in words, for the operator.
    var text: String {
        switch self {
        case .unreachable(let text), .lost(let text), .unreadable(let text): text
        case .late: "it did not answer in time"
        case .tooLarge: "its response exceeds function-answer"
        case .cancelled: "the call was cancelled"
        }
    }
}
