@testable import SkyrowJSON
@testable import SkyrowModel
@testable import SkyrowProtocol

// What libFuzzer calls with every input (`make fuzz`). It is built by scripts/fuzz together with the tests' slow reader,
// which decides what is JSON; a disagreement, a crash or a read outside of the input ends the run.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    checkToken(input)
    let reference = ReferenceJSON(input)
    guard let document = try? JSONDocument(input) else {
        precondition(reference == nil, "The parser refuses what is JSON.")
        return 0
    }
    document.withRoot { root in
        precondition(reference == ReferenceJSON(root), "The parser reads another value.")
        checkCanonicalForm(of: root)
        readEveryMessage(root)
        switch RPCRequest(root) {
        case .single(let entry): readEntry(entry)
        case .batch(let entries): entries.forEach(readEntry)
        }
    }
    return 0
}

/// Bytes with the check of a change token are one that stays as it is, or none.
private func checkToken(_ input: [UInt8]) {
    let check = CRC32C.of(input[...])
    let sealed = input + (0..<4).reversed().map { UInt8(truncatingIfNeeded: check >> (8 * UInt32($0))) }
    guard let token = ChangeToken(bytes: sealed) else { return }
    precondition(ChangeToken(bytes: token.bytes) == token, "A change token changes on its way.")
}

/// What the writer makes of any value is JSON, and its canonical form is its own.
private func checkCanonicalForm(of root: JSONView) {
    let writer = JSONWriter(capacity: 1)
    writer.canonical(root)
    guard let again = try? JSONDocument(writer.bytes) else { preconditionFailure("The writer writes what is no JSON.") }
    let second = JSONWriter(capacity: 1)
    again.withRoot { second.canonical($0) }
    precondition(writer.bytes == second.bytes, "A canonical form has another canonical form.")
}

private func readEntry(_ entry: RPCEntry) {
    switch entry {
    case .call(let call): if let parameters = call.parameters { readEveryMessage(parameters) }
    case .invalid: break
    }
}

/// Nothing but `SkyrowError` may come of a message, and what was read can be written and read again.
private func readEveryMessage(_ json: JSONView) {
    _ = try? V1Request(json)
    check(Actions.recordFetch.parameters, json)
    check(Actions.recordDelete.parameters, json)
    check(Actions.authSignUp.parameters, json)
    check(Actions.authLogIn.parameters, json)
    check(Actions.authPassword.parameters, json)
    check(Actions.schemaCreate.parameters, json)
    check(Actions.schemaRename.parameters, json)
    check(Actions.schemaDelete.parameters, json)
    _ = try? RecordSchema(result: json)
    _ = try? Actions.recordSave.result.read(json, "result")
    _ = try? Actions.recordDelete.result.read(json, "result")
    _ = try? Actions.recordQuery.result.read(json, "result")
    _ = SkyrowError(rpc: json)
    check(Actions.recordQuery.parameters, json)
    check(Actions.recordAggregate.parameters, json)
    check(Actions.recordUpdate.parameters, json)
    check(Actions.schemaIndexCreate.parameters, json)
    readChangesAndAccounts(json)
    for item in (try? SaveRequest(parameters: json))?.items ?? [] {
        guard case .draft(let draft) = item else { continue }
        func read(_ json: JSONView) throws(SkyrowError) -> RecordDraft { try RecordDraft(json) }
        checkStability(of: draft, write: { $0.draft($1) }, read: read)
    }
}

private func readChangesAndAccounts(_ json: JSONView) {
    if let holding = (try? Actions.changesFetch.parameters.read(json))?.holding {
        _ = holding.mayHold("note/1")
        if case .filter(var filter) = holding {
            filter.insert("note/2")
            precondition(filter.mayContain("note/2"), "A filter does not have what was put into it.")
        }
    }
    check(Actions.authRegister.parameters, json)
    check(Actions.changesFetch.parameters, json)
    check(Actions.changesCompare.parameters, json)
    check(Actions.liveSubscribe.parameters, json)
    check(Actions.liveWatch.parameters, json)
    check(Actions.schemaAccessSet.parameters, json)
    check(Actions.schemaAccess.parameters, json)
    check(Actions.schemaDefaultAccess.parameters, json)
    check(Actions.schemaFieldAccessUpdate.parameters, json)
    check(Actions.recordTransfer.parameters, json)
    check(Actions.authLogInFactor.parameters, json)
    check(Actions.keyCreate.parameters, json)
    check(Actions.keyRotate.parameters, json)
    check(Actions.roleSave.parameters, json)
    check(Actions.roleAdd.parameters, json)
    check(Actions.roleMembers.parameters, json)
    check(Actions.groupAdd.parameters, json)
    check(Actions.authVerifyRequest.parameters, json)
    check(Actions.authResetConfirm.parameters, json)
    check(Actions.authEmailChange.parameters, json)
    check(Actions.authLinkLogIn.parameters, json)
    check(Actions.userDelete.parameters, json)
    check(Actions.authDisableSet.parameters, json)
    check(Actions.authDefaultAccessSet.parameters, json)
    check(Actions.authProviderStart.parameters, json)
    check(Actions.authProviderFinish.parameters, json)
    check(Actions.authProviderLogIn.parameters, json)
    check(Actions.ssoCustomTokenLogIn.parameters, json)
    check(Actions.ssoOAuthSignUp.parameters, json)
    check(Actions.ssoOAuthLink.parameters, json)
    check(Actions.relationAdd.parameters, json)
    check(Actions.relationQuery.parameters, json)
    check(Actions.relationBlock.parameters, json)
    check(Actions.authStepUp.parameters, json)
    check(Actions.sessionRevoke.parameters, json)
}

private func check<Root>(_ form: Form<Root>, _ json: JSONView) {
    guard let value = try? form.read(json) else { return }
    checkStability(of: value, write: { form.write($1, $0) }, read: form.read)
}

/// What was written can be read, and is written again in the same way.
///
/// Texts are compared and not values, because the double 1.0 is written as `1` and comes back as an integer.
private func checkStability<Value>(
    of value: Value,
    write: (JSONWriter, Value) -> Void,
    read: (JSONView) throws(SkyrowError) -> Value
) {
    let first = JSONWriter(capacity: 1)
    write(first, value)
    guard let document = try? JSONDocument(first.bytes, depthLimit: 128) else {
        preconditionFailure("The writer writes what is no JSON.")
    }
    let second = JSONWriter(capacity: 1)
    do throws(SkyrowError) {
        write(second, try document.withRoot { json throws(SkyrowError) in try read(json) })
    } catch {
        preconditionFailure("What was written cannot be read: \(error)")
    }
    precondition(first.bytes == second.bytes, "A value changes on its way.")
}
