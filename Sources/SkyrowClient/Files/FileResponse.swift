import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The responses of the paths below `/files`.
enum FileResponse {
    /// Reads the asset of an uploaded file; throws the server's error, or that the response is not from the service.
    static func asset(of response: TransportResponse) throws(ClientError) -> Asset {
        let file = try? JSONDocument(response.body).withRoot { root throws(SkyrowError) in
            try root["result"].map { result throws(SkyrowError) in try UploadedFile(result) }
        }
        guard (200..<300).contains(response.status), let file else { throw error(of: response) }
        return file.asset
    }

    /// The error of a response that has no file.
    static func error(of response: TransportResponse) -> ClientError {
        let error = try? JSONDocument(response.body).withRoot { root in
            root["error"].flatMap { $0.isObject ? SkyrowError($0) : nil }
        }
        return error.map { .refused($0) } ?? RPCBody.foreign(response, underlying: nil)
    }
}
