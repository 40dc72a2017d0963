package import SkyrowJSON
package import SkyrowModel

/// How a result is wrapped.
package enum Envelope: Hashable, Sendable {
    /// Skygear v1: `{"result":…,"info":…}` or `{"error":…}`
    case v1
    /// JSON-RPC 2.0: `{"jsonrpc":"2.0","id":…,"result":…}` or `{…,"error":…}`
    case rpc(RPCID)
}

extension JSONWriter {
    /// Writes a complete response.
    ///
    /// JSON-RPC has no room beside the result, so there `record:query` (and `relation:query` with `users`) returns
    /// `{"records":[…],"info":{"cursor":…}}` where v1 returns `{"result":[…],"info":{"cursor":…}}`.
    package func response(_ result: ResultWriter, in envelope: Envelope) {
        beginObject()
        switch envelope {
        case .v1:
            key("result")
            result.writeV1(self)
        case .rpc(let id):
            rpcHead(id)
            key("result")
            result.write(self)
        }
        endObject()
    }

    /// Writes a complete response of a failure.
    package func failure(_ error: SkyrowError, in envelope: Envelope) {
        beginObject()
        switch envelope {
        case .v1:
            key("error")
            self.error(error)
        case .rpc(let id):
            rpcHead(id)
            key("error")
            rpcError(error)
        }
        endObject()
    }

    private func rpcHead(_ id: RPCID) {
        append("\"jsonrpc\":\"2.0\"")
        key("id")
        json(id.text)
    }
}
