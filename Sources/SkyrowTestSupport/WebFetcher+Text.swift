import Foundation
import SkyrowRemote

extension WebFetcher {
    /// Returns the text at an address on the loopback interface.
    func text(at address: String) async throws -> String {
        guard let target = WebAddress(address, allowsLoopback: true) else {
            throw TemporaryClusterError(description: "\(address) is not an address")
        }
        return String(decoding: try await document(at: target).bytes, as: UTF8.self)
    }
}

extension String {
    /// The text in base64 with characters that need no escaping in a query.
    var encodedForQuery: String {
        Data(utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ".")
    }
}
