import Glibc
import SkyrowHTTP
import SkyrowMaintenance
import SkyrowServer
import SkyrowSystem

extension ToolError {
    /// Makes the error for a service that could not start, or failed.
    init(serviceFailure error: any Error, settings: Settings) {
        if let error = error as? ToolError {
            self = error
        } else if let error = error as? ListenError {
            self = .failure(ToolError.listening(error, settings))
        } else {
            self.init(databaseFailure: error)
        }
    }

    private static func listening(_ error: ListenError, _ settings: Settings) -> String {
        let place = "port \(settings.listening.port) of \(settings.listening.host)"
        return switch error.code {
        case EADDRINUSE: "Another program is listening on \(place): stop it, or set another --port."
        case EACCES: "This user may not listen on \(place): set --port above 1023."
        case EADDRNOTAVAIL: "This machine does not have the address \(settings.listening.host): set another --host."
        default: "Cannot listen on \(place): \(error)."
        }
    }
}
