import SkyrowModel

@testable import SkyrowJSON
@testable import SkyrowWire

// What libFuzzer calls with every input (`make fuzz`). It is built by scripts/fuzz together with the tests' slow reader,
// which decides what is JSON; a disagreement, a crash or a read outside of the input ends the run.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
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
    _ = try? RecordIDsRequest(parameters: json)
    _ = try? SignUpRequest(parameters: json)
    _ = try? LogInRequest(parameters: json)
    _ = try? ChangePasswordRequest(parameters: json)
    _ = try? RoleMembersRequest(parameters: json)
    _ = try? SchemaCreateRequest(parameters: json)
    _ = try? SchemaRenameRequest(parameters: json)
    _ = try? SchemaDeleteRequest(parameters: json)
    _ = try? RecordSchema(result: json)
    _ = try? RecordEntry(json)
    _ = SkyrowError(rpc: json)
    if let query = try? QueryRequest(parameters: json).query {
        func read(_ json: JSONView) throws(SkyrowError) -> RecordQuery { try QueryRequest(parameters: json).query }
        checkStability(of: query, write: { $0.queryParameters($1, database: .everyone) }, read: read)
    }
    if let query = try? AggregateRequest(parameters: json).query {
        func read(_ json: JSONView) throws(SkyrowError) -> AggregateQuery {
            try AggregateRequest(parameters: json).query
        }
        checkStability(of: query, write: { $0.aggregateParameters($1, database: .everyone) }, read: read)
    }
    _ = try? BulkRequest(updateParameters: json)
    _ = try? BulkRequest(deleteParameters: json)
    _ = try? IndexCreateRequest(parameters: json)
    for item in (try? SaveRequest(parameters: json))?.items ?? [] {
        guard case .draft(let draft) = item else { continue }
        func read(_ json: JSONView) throws(SkyrowError) -> RecordDraft { try RecordDraft(json) }
        checkStability(of: draft, write: { $0.draft($1) }, read: read)
    }
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
