import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The bytes of one JSON-RPC call and of its response.
enum RPCBody {
    /// A request has one call, so a constant id suffices.
    private static let id = 1

    /// Responses may be nested deeper than requests, since included records are inside records.
    private static let responseDepthLimit = 128

    static func call(_ action: ActionDescription, parameters: ((JSONWriter) -> Void)?) -> [UInt8] {
        let writer = JSONWriter()
        write(action.name, id: id, to: writer, parameters: parameters)
        return writer.bytes
    }

    /// Returns a batch of calls that start subscriptions, each with the id of its response.
    static func subscriptions(_ calls: [(id: Int, request: LiveRequest)]) -> [UInt8] {
        let writer = JSONWriter()
        writer.beginArray()
        for (id, request) in calls {
            switch request {
            case .subscribe(let request):
                let action = Actions.liveSubscribe
                write(action.name, id: id, to: writer) { action.parameters.write(request, $0) }
            case .watch(let request):
                let action = Actions.liveWatch
                write(action.name, id: id, to: writer) { action.parameters.write(request, $0) }
            }
        }
        writer.endArray()
        return writer.bytes
    }

    private static func write(
        _ action: ActionName,
        id: Int,
        to writer: JSONWriter,
        parameters: ((JSONWriter) -> Void)?
    ) {
        writer.beginObject()
        writer.member("jsonrpc", "2.0")
        writer.member("id", id)
        writer.member("method", action.rawValue)
        if let parameters {
            writer.key("params")
            parameters(writer)
        }
        writer.endObject()
    }

    /// Reads a response; throws the server's error, or that the response is not from the service.
    static func result<Result>(
        of response: TransportResponse,
        read: (JSONView) throws(SkyrowError) -> Result
    ) throws(ClientError) -> Result {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(response.body, depthLimit: responseDepthLimit)
        } catch {
            throw foreign(response, underlying: error)
        }
        return try document.withRoot { root throws(ClientError) in
            if let error = root["error"], error.isObject { throw .refused(SkyrowError(rpc: error)) }
            guard let result = root["result"] else { throw foreign(response, underlying: nil) }
            do throws(SkyrowError) {
                return try read(result)
            } catch {
                throw ClientError(.invalidResponse, "The response cannot be read: \(error.message)", underlying: error)
            }
        }
    }

    /// The error for a response that is not from the service, such as a proxy's.
    static func foreign(_ response: TransportResponse, underlying: (any Error)?) -> ClientError {
        switch response.status {
        case 502, 503, 504:
            ClientError(.noResponse, "The service is not available (HTTP \(response.status)).", underlying: underlying)
        default:
            ClientError(
                .invalidResponse,
                "The response is not from a Skyrow service (HTTP \(response.status)).",
                underlying: underlying
            )
        }
    }
}
