package import SkyrowJSON
package import SkyrowModel

extension SkyrowError {
    /// What a request gets whose JSON cannot be read: `107 BadRequest` with the byte offset.
    package init(unreadable error: JSONParseError) {
        self.init(.badRequest, error.description + ".", info: ["offset": .integer(Int64(error.offset))])
    }

    /// The same as JSON-RPC has it: -32700 Parse error.
    package init(rpcParseError error: JSONParseError) {
        self.init(.parseError, error.description + ".", info: ["offset": .integer(Int64(error.offset))])
    }
}

extension JSONWriter {
    /// The v1 form, `{"name":…,"code":…,"message":…,"info":{…}}`.
    package func error(_ error: SkyrowError) {
        beginObject()
        errorMembers(error)
        endObject()
    }

    /// The v1 form's members inside an object that is already open; `info` is left out when empty.
    func errorMembers(_ error: SkyrowError) {
        member("name", error.code.name)
        member("code", error.code.rawValue)
        member("message", error.message)
        errorInfo(error)
    }

    /// JSON-RPC's form, `{"code":…,"message":…,"data":{"name":…,"info":{…}}}`.
    package func rpcError(_ error: SkyrowError) {
        beginObject()
        member("code", error.code.rawValue)
        member("message", error.message)
        beginObject("data")
        member("name", error.code.name)
        errorInfo(error)
        endObject()
        endObject()
    }

    private func errorInfo(_ error: SkyrowError) {
        guard !error.info.isEmpty else { return }
        beginObject("info")
        for (name, value) in error.info.sorted(by: { $0.key < $1.key }) {
            key(name)
            info(value)
        }
        endObject()
    }

    private func info(_ info: ErrorInfo) {
        switch info {
        case .string(let text): string(text)
        case .integer(let value): integer(value)
        case .boolean(let value): boolean(value)
        case .datetime(let value): timestamp(value)
        case .list(let values):
            beginArray()
            for value in values { self.info(value) }
            endArray()
        case .error(let error):
            self.error(error)
        case .record(let record):
            self.record(record)
        case .json(let text):
            json(text)
        }
    }
}
