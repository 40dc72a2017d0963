package import SkyrowJSON
package import SkyrowModel

/// The result of an action, the same at both endpoints.
package enum ActionResult: Sendable {
    /// `record:fetch`
    case outcomes([RecordOutcome])
    /// `record:save`, `record:delete`: what has happened, which a bound on the response cannot undo.
    case written([RecordOutcome])
    /// The same, already written: the first result under an idempotency key.
    case encodedResult([UInt8])
    /// `record:update`, `record:delete` by a predicate
    case bulk(BulkResult, deletes: Bool)
    /// `record:query`
    case query(QueryResult)
    /// `record:aggregate`
    case aggregate(AggregateResult)
    /// `record:query`, `record:aggregate` with `explain`
    case explanation(QueryExplanation)
    /// `auth:signup`, `auth:login`, `auth:register`, `auth:password`, logins by a provider
    case auth(AuthResult)
    /// `auth:provider:list`
    case identities([AccountIdentity])
    /// `auth:provider:start`
    case providerStart(ProviderStart)
    /// `auth:provider:token`
    case providerTokens(ProviderTokens)
    /// `{"status":"OK"}`: `auth:provider:link`, `auth:provider:unlink`, `live:unsubscribe`
    case status
    /// `"OK"`: `sso:oauth:link`, `sso:oauth:unlink`
    case done
    /// `live:subscribe`
    case liveSubscribed(LiveSubscribed)
    /// `changes:fetch`
    case changes(ChangesResult)
    /// `changes:compare`
    case compared(ComparedRecords)
    /// The result of an action that is described once.
    case value(ResultWriter)
    /// Any other JSON: `rpc.discover`
    case json(JSONText)
}

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
    /// JSON-RPC has no room beside the result, so there `record:query` (and `relation:query` with `users`) returns `{"records":[…],"info":{"cursor":…}}`
    /// where v1 returns `{"result":[…],"info":{"cursor":…}}`; every other result is the same in both. A table of included records
    /// is only there.
    package func response(_ result: ActionResult, in envelope: Envelope) {
        beginObject()
        switch envelope {
        case .v1:
            key("result")
            switch result {
            case .query(let query):
                records(query.records)
                if query.isDescribed { pageInfo(query) }
            case .value(let writer): writer.writeV1(self)
            case .outcomes, .written, .encodedResult, .bulk, .aggregate, .explanation, .auth, .identities,
                .providerStart,
                .providerTokens, .status, .done, .liveSubscribed, .changes, .compared, .json:
                self.result(result)
            }
        case .rpc(let id):
            rpcHead(id)
            key("result")
            self.result(result)
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

    private func result(_ result: ActionResult) {
        switch result {
        case .outcomes(let outcomes): self.outcomes(outcomes)
        case .written(let outcomes): written(outcomes)
        case .encodedResult(let bytes):
            if account?.exemptOne() == true { liftBound() }
            bytes.withUnsafeBytes { json(validated: $0) }
        case .bulk(let result, let deletes): bulkResult(result, deletes: deletes)
        case .query(let query):
            beginObject()
            key("records")
            records(query.records)
            if let included = query.included { self.included(included) }
            pageInfo(query)
            endObject()
        case .aggregate(let result): groups(result)
        case .explanation(let explanation): self.explanation(explanation)
        case .auth(let auth): authResult(auth)
        case .identities(let identities): self.identities(identities)
        case .providerStart(let start): providerStart(start)
        case .providerTokens(let tokens): providerTokens(tokens)
        case .status:
            beginObject()
            key("status")
            string("OK")
            endObject()
        case .done: string("OK")
        case .value(let writer): writer.write(self)
        case .liveSubscribed(let result): liveSubscribed(result)
        case .changes(let result): changes(result)
        case .compared(let result): compared(result)
        case .json(let text): json(text)
        }
    }
}
