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
    /// `auth:signup`, `auth:login`, `auth:link:login`, `auth:register`, `auth:password`
    case auth(AuthResult)
    /// `auth:verify:request`, `auth:reset:request`, `auth:email:change`, `auth:link:request`
    case codeTicket(CodeTicket)
    /// `auth:provider:list`
    case identities([AccountIdentity])
    /// `auth:provider:start`
    case providerStart(ProviderStart)
    /// `auth:provider:token`
    case providerTokens(ProviderTokens)
    /// `auth:invite`
    case invited(UserID)
    /// `auth:delete`, `user:delete`
    case deletion(DeletionReport)
    /// `auth:merge`
    case merge(MergeReport)
    /// `{"status":"OK"}`: `auth:provider:link`, `auth:provider:unlink`, `live:unsubscribe`
    case status
    /// `"OK"`: `role:assign`, `role:revoke`, `sso:oauth:link`, `sso:oauth:unlink`
    case done
    /// `auth:totp:enrol`, `auth:totp:confirm`, `auth:factor:list`
    case factor(FactorResult)
    /// `relation:*`
    case relation(RelationResult)
    /// `schema:fetch`, `schema:create`, `schema:rename`, `schema:delete`
    case schema(RecordSchema)
    /// `schema:index:create`, `schema:index:delete`
    case index(RecordIndex)
    /// `schema:index:list`
    case indexes([RecordIndex])
    /// `schema:access:set`, `schema:access:get`
    case classAccess(RecordTypeName, ClassAccess)
    /// `schema:field_access:get`, `schema:field_access:update`
    case skygearFieldRules([SkygearFieldRule])
    /// `schema:access`
    case createRoles(CreateRolesRequest)
    /// `schema:default_access`, `auth:default_access:set`
    case defaultAccess(DefaultAccessRequest)
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
            case .relation(.page(let page)):
                relationOutcomes(page.users)
                relationInfo(page)
            case .outcomes, .written, .encodedResult, .bulk, .aggregate, .explanation, .auth, .codeTicket, .identities,
                .deletion, .merge, .invited, .providerStart, .providerTokens,
                .status, .done, .factor, .relation, .value,
                .schema,
                .index, .indexes,
                .classAccess, .skygearFieldRules, .createRoles, .defaultAccess, .changes, .compared,
                .liveSubscribed,
                .json:
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
        case .codeTicket(let ticket): codeTicket(ticket)
        case .identities(let identities): self.identities(identities)
        case .providerStart(let start): providerStart(start)
        case .providerTokens(let tokens): providerTokens(tokens)
        case .deletion(let report): deletion(report)
        case .merge(let report): merge(report)
        case .invited(let user):
            beginObject()
            key("user_id")
            string(user.rawValue)
            endObject()
        case .status:
            beginObject()
            key("status")
            string("OK")
            endObject()
        case .done: string("OK")
        case .factor(let result): factorResult(result)
        case .relation(let result): relationResult(result)
        case .value(let writer): writer.write(self)
        case .schema(let schema): self.schema(schema)
        case .index(let index): self.index(index)
        case .indexes(let indexes): self.indexes(indexes)
        case .classAccess(let type, let access): classAccess(access, of: type)
        case .skygearFieldRules(let rules): skygearFieldRules(rules)
        case .createRoles(let request): createRoles(request)
        case .defaultAccess(let request): defaultAccess(request)
        case .liveSubscribed(let result): liveSubscribed(result)
        case .changes(let result): changes(result)
        case .compared(let result): compared(result)
        case .json(let text): json(text)
        }
    }
}
