import SkyrowJSON
package import SkyrowModel

extension FunctionRegistration {
    /// The registration as it is stored: the answer to `init` in the dialect `skyrow/1`, with the dialect beside it.
    package var stored: JSONText {
        let writer = JSONWriter()
        writer.beginObject()
        writer.member("protocol", Self.skyrowProtocol)
        writer.member("dialect", dialect.rawValue)
        writer.list("op", functions) { writer.entry($0) }
        writer.list("hook", hooks) { writer.entry($0) }
        writer.list("handler", handlers) { writer.entry($0) }
        writer.list("timer", timers) { timer in
            writer.member("name", timer.name)
            writer.member("spec", timer.spec.text)
        }
        writer.list("event", events.sorted()) { writer.member("name", $0) }
        writer.list("provider", providers) { id in
            writer.member("type", "auth")
            writer.member("id", id)
        }
        writer.endObject()
        return writer.jsonText
    }

    /// Reads the stored form; nil for what another version wrote.
    package init?(stored: JSONText) {
        guard let document = try? JSONDocument(stored.utf8) else { return nil }
        let registration = document.withRoot { json -> FunctionRegistration? in
            guard json["protocol"]?.string == Self.skyrowProtocol,
                let dialect = json["dialect"]?.string.flatMap({ FunctionDialect(rawValue: $0) })
            else { return nil }
            // Reserved names were checked when the server registered them.
            return try? FunctionRegistration(json, dialect: dialect, isStrict: true, reserved: [])
        }
        guard let registration else { return nil }
        self = registration
    }
}

extension JSONWriter {
    fileprivate func list<Entry>(_ name: StaticString, _ entries: [Entry], _ members: (Entry) -> Void) {
        beginArray(name)
        for entry in entries {
            beginObject()
            members(entry)
            endObject()
        }
        endArray()
    }

    fileprivate func entry(_ function: FunctionDescription) {
        member("name", function.name.rawValue)
        need(function.need)
        if !function.summary.isEmpty { member("summary", function.summary) }
        if let parameters = function.parameters {
            key("params")
            json(parameters.text)
        }
        if let result = function.result {
            key("result")
            json(result)
        }
        if let timeout = function.timeout { member("timeout", timeout.goText) }
        if function.isReadOnly { member("read_only", true) }
        if let limit = function.rateLimit { member("rate_limit", limit) }
    }

    fileprivate func entry(_ hook: HookDescription) {
        member("name", hook.name)
        member("trigger", hook.trigger.rawValue)
        member("type", hook.type?.rawValue ?? "*")
        if hook.isAsync { member("async", true) }
        if hook.when != Set(HookDescription.Change.allCases) { member("when", hook.when.map(\.rawValue).sorted()) }
        if !hook.fields.isEmpty { member("fields", hook.fields.map(\.rawValue).sorted()) }
        member("batch", hook.batch)
        if !hook.isRequired { member("required", false) }
        if let timeout = hook.timeout { member("timeout", timeout.goText) }
    }

    fileprivate func entry(_ handler: HandlerDescription) {
        member("name", handler.name)
        member("methods", handler.methods.sorted())
        need(handler.need)
    }

    private func need(_ need: FunctionNeed) {
        switch need {
        case .nothing: break
        case .key: member("key_required", true)
        case .user: member("user_required", true)
        case .roles(let roles): member("roles", roles.map(\.rawValue))
        case .administrator: member("administrator", true)
        case .master: member("master", true)
        }
    }
}
