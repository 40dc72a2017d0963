import SkyrowModel
import SkyrowWire

/// The bytes of one JSON-RPC call and of its answer.
enum RPCBody {
    /// A request has one call, so one id does for all.
    private static let id = 1

    /// Answers may be nested deeper than requests: included records stand inside of records.
    private static let answerDepthLimit = 128

    static func call(_ action: ActionName, parameters: ((JSONWriter) -> Void)?) -> [UInt8] {
        let writer = JSONWriter()
        writer.beginObject()
        writer.key("jsonrpc")
        writer.string("2.0")
        writer.key("id")
        writer.integer(id)
        writer.key("method")
        writer.string(action.rawValue)
        if let parameters {
            writer.key("params")
            parameters(writer)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Reads an answer; throws what the server said, or that it was no answer.
    static func result<Result>(
        of answer: TransportAnswer,
        read: (JSONView) throws(SkyrowError) -> Result
    ) throws(ClientError) -> Result {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(answer.body, depthLimit: answerDepthLimit)
        } catch {
            throw foreign(answer, underlying: error)
        }
        return try document.withRoot { root throws(ClientError) in
            if let error = root["error"], error.isObject { throw .refused(SkyrowError(rpc: error)) }
            guard let result = root["result"] else { throw foreign(answer, underlying: nil) }
            do throws(SkyrowError) {
                return try read(result)
            } catch {
                throw ClientError(.invalidAnswer, "The answer cannot be read: \(error.message)", underlying: error)
            }
        }
    }

    /// An answer that is not the service's own, such as a proxy's.
    private static func foreign(_ answer: TransportAnswer, underlying: (any Error)?) -> ClientError {
        switch answer.status {
        case 502, 503, 504:
            ClientError(.noAnswer, "The service is not there (HTTP \(answer.status)).", underlying: underlying)
        default:
            ClientError(
                .invalidAnswer,
                "What answered is no Skyrow service (HTTP \(answer.status)).",
                underlying: underlying
            )
        }
    }
}
