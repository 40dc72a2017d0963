import SkyrowJSON
package import SkyrowModel

/// The JSON of calls of function servers and of their answers, in both dialects.
///
/// ```swift
/// let body = FunctionEnvelope(.skyrow).text(of: call, time: .seconds(5), links: nil)
/// let answer = try FunctionEnvelope(.skyrow).answer(responseBody, to: call)
/// ```
package struct FunctionEnvelope: Sendable {
    package let dialect: FunctionDialect

    package init(_ dialect: FunctionDialect) {
        self.dialect = dialect
    }

    /// Returns the body of the request.
    ///
    /// Arguments are sent as they are, and their files get no addresses: anybody may name a file in them.
    ///
    /// - Parameters:
    ///   - time: The time that the call has left.
    ///   - links: Makes the addresses of files in records; nil for none.
    package func text(of call: FunctionCall, time: Duration, links: (any AssetLinks)?) -> [UInt8] {
        let writer = JSONWriter()
        writer.links = links
        writer.beginObject()
        switch call.content {
        case .function(let name, let arguments):
            writer.member("kind", "op")
            writer.member("name", name.rawValue)
            self.arguments(arguments, of: name, writer)
        case .hook(let hook, let input):
            writer.member("kind", "hook")
            writer.member("name", hook.name)
            writer.beginObject("param")
            self.input(input, of: hook.trigger, writer)
            writer.endObject()
        case .event(let name, let parameter):
            writer.member("kind", "event")
            writer.member("name", name)
            if let parameter, !parameter.isEmptyOrNull {
                writer.key("param")
                writer.json(parameter)
            }
        case .handler(let request):
            writer.member("kind", "handler")
            writer.member("name", request.name)
            writer.key("param")
            writer.handlerRequest(request)
        case .provider(let name, let authData):
            writer.member("kind", "provider")
            writer.member("name", name)
            writer.beginObject("param")
            writer.member("action", "login")
            writer.key("auth_data")
            writer.json(authData)
            writer.endObject()
        }
        context(of: call, time: time, writer)
        writer.endObject()
        return writer.bytes
    }

    private func arguments(_ arguments: JSONText?, of name: FunctionName, _ writer: JSONWriter) {
        let arguments = arguments.flatMap { $0.utf8 == Array("null".utf8) ? nil : $0 }
        guard arguments != nil || dialect == .skygear else { return }
        writer.beginObject("param")
        if dialect == .skygear { writer.member("action", name.rawValue) }
        if let arguments {
            writer.key("args")
            writer.json(arguments)
        }
        writer.endObject()
    }

    private func context(of call: FunctionCall, time: Duration, _ writer: JSONWriter) {
        // Events are for no caller.
        if case .event = call.content { return }
        let context = call.context
        let start = writer.count
        writer.beginObject("context")
        let empty = writer.count
        if let user = context.userID { writer.member("user_id", user.rawValue) }
        if let kind = context.keyKind { writer.member("access_key_type", kind.rawValue) }
        if let request = context.requestID { writer.member("request_id", request) }
        if dialect == .skyrow {
            if !context.roles.isEmpty { writer.member("roles", context.roles.map(\.rawValue)) }
            writer.member("depth", context.depth)
            let (seconds, attoseconds) = time.components
            writer.member("deadline_ms", max(0, seconds.multipliedByThousand + attoseconds / 1_000_000_000_000_000))
            if let token = context.token { writer.member("token", token) }
            if let address = context.clientAddress { writer.member("client_address", address) }
        }
        if writer.count == empty { writer.truncate(to: start) } else { writer.endObject() }
    }

    // MARK: Hooks

    private func input(_ input: HookInput, of trigger: HookTrigger, _ writer: JSONWriter) {
        switch (input, dialect) {
        case (.records(let records), .skygear):
            // One record a call.
            guard let hooked = records.first else { return }
            writer.key("record")
            writer.skygearRecord(hooked.record)
            writer.key("original")
            if let original = hooked.original, trigger == .beforeSave || trigger == .afterSave {
                writer.skygearRecord(original)
            } else {
                writer.null()
            }
        case (.records(let records), .skyrow):
            writer.beginArray("records")
            for hooked in records {
                writer.beginObject()
                writer.key("record")
                writer.record(hooked.record)
                writer.key("original")
                if let original = hooked.original { writer.record(original) } else { writer.null() }
                writer.member("changed", hooked.changed.map(\.rawValue))
                writer.endObject()
            }
            writer.endArray()
        case (.account(let profile), _):
            writer.key("user")
            writer.record(profile)
        case (.query(let query), _):
            writer.key("query")
            writer.json(query)
        }
    }
}

extension JSONText {
    fileprivate var isEmptyOrNull: Bool { utf8 == Array("{}".utf8) || utf8 == Array("null".utf8) }
}

extension Int64 {
    /// The product, or the greatest number.
    fileprivate var multipliedByThousand: Int64 {
        let (product, overflows) = multipliedReportingOverflow(by: 1000)
        return overflows ? .max / 2 : product
    }
}

extension JSONWriter {
    /// A record as the runtimes of Skygear v1 read it: without what they fail on.
    fileprivate func skygearRecord(_ record: Record) {
        beginObject()
        member("_id", record.id.description)
        member("_type", "record")
        key("_access")
        accessList(record.access.map { AccessList($0.entries.filter { HookMerge.isKept($0) }) })
        if let owner = record.owner { member("_ownerID", owner.rawValue) }
        if let instant = record.createdAt, EchoRule.isReadable(instant) { member("_created_at", instant) }
        if let user = record.createdBy { member("_created_by", user.rawValue) }
        if let instant = record.updatedAt, EchoRule.isReadable(instant) { member("_updated_at", instant) }
        if let user = record.updatedBy { member("_updated_by", user.rawValue) }
        for (name, value) in record.fields.sorted(by: { $0.key < $1.key })
        where !name.isReserved && EchoRule.isReadable(value) {
            key(name.rawValue)
            self.value(value)
        }
        endObject()
    }

    /// The parameter of a handler: names of fields in canonical form, each once with all its values.
    fileprivate func handlerRequest(_ request: HandlerRequest) {
        beginObject()
        member("method", request.method)
        member("path", request.path)
        member("query_string", request.query)
        beginObject("header")
        var names: [String] = []
        var values: [String: [String]] = [:]
        for (name, value) in request.fields {
            let name = name.canonicalFieldName
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(value)
        }
        for name in names {
            key(name)
            strings(values[name] ?? [])
        }
        endObject()
        key("body")
        request.body.withUnsafeBytes { base64($0) }
        endObject()
    }
}

extension String {
    /// The name of a header field as Go and v1 write it, such as `Content-Type`.
    fileprivate var canonicalFieldName: String {
        var isFirst = true
        let bytes = utf8.map { byte in
            defer { isFirst = byte == UInt8(ascii: "-") }
            let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            return isLetter ? (isFirst ? byte & ~0x20 : byte | 0x20) : byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
