import SkyrowJSON
import SkyrowModel

/// An entry of a registration, such as `{"name": "hello", "key_required": true}`.
struct RegistrationEntry {
    private let json: JSONView
    private let kind: String
    /// Whether the members are those of `skyrow/1`. Otherwise the others are ignored.
    private let isStrict: Bool
    private let place: Int
    /// Empty for a provider, which has an id.
    let name: String

    /// Upper bound on the bytes of a name.
    static let maximumName = 255
    private static let maximumSummary = 1_000
    /// Upper bound on the roles, fields or methods of an entry.
    private static let maximumList = 100

    private static let members: [String: Set<String>] = [
        "op": [
            "name", "summary", "params", "result", "key_required", "user_required", "roles", "administrator", "master",
            "timeout", "read_only", "rate_limit",
        ],
        "hook": ["name", "type", "trigger", "async", "when", "fields", "batch", "required", "timeout"],
        "handler": ["name", "methods", "key_required", "user_required", "roles", "administrator", "master"],
        "timer": ["name", "spec"], "event": ["name"], "provider": ["type", "id", "name"],
    ]

    init(_ json: JSONView, _ kind: String, place: Int, isStrict: Bool) throws(RegistrationFault) {
        self.json = json
        self.kind = kind
        self.place = place
        self.isStrict = isStrict
        name = json["name"]?.string ?? ""
        guard json.isObject else { throw fault("is not an object") }
        guard kind == "provider" || (1...Self.maximumName).contains(name.utf8.count) && !name.hasNUL else {
            throw fault("must have a name of 1 to \(Self.maximumName) bytes")
        }
        guard isStrict, let known = Self.members[kind] else { return }
        for (key, _) in json.members where !known.contains(key.string ?? "") {
            throw fault("has the unknown member \"\(excerpt(of: key.string ?? ""))\"")
        }
    }

    /// - Parameter reason: A clause that follows the entry.
    func fault(_ reason: String) -> RegistrationFault {
        RegistrationFault("The \(kind) \(name.isEmpty ? "number \(place + 1)" : "\"\(excerpt(of: name))\"") \(reason).")
    }

    // MARK: Members

    private subscript(_ member: StaticString) -> JSONView? {
        guard let value = json[member], !value.isNull else { return nil }
        return value
    }

    private func flag(_ member: StaticString, default value: Bool = false) throws(RegistrationFault) -> Bool {
        guard let json = self[member] else { return value }
        guard let flag = json.boolean else { throw fault("must have true or false in \"\(member)\"") }
        return flag
    }

    func text(_ member: StaticString, atMost maximum: Int = RegistrationEntry.maximumName) throws(RegistrationFault)
        -> String
    {
        guard let text = self[member]?.string, (1...maximum).contains(text.utf8.count), !text.hasNUL else {
            throw fault("must have a text of 1 to \(maximum) bytes in \"\(member)\"")
        }
        return text
    }

    private func texts(_ member: StaticString) throws(RegistrationFault) -> [String]? {
        guard let json = self[member] else { return nil }
        let texts = json.elements.compactMap(\.string)
        guard json.isArray, (1...Self.maximumList).contains(json.count), texts.count == json.count,
            texts.allSatisfy(\.isName), Set(texts).count == texts.count
        else { throw fault("must have a list of 1 to \(Self.maximumList) different names in \"\(member)\"") }
        return texts
    }

    private func integer(_ member: StaticString, in range: ClosedRange<Int>) throws(RegistrationFault) -> Int? {
        guard let json = self[member] else { return nil }
        guard let number = json.wholeNumber.flatMap({ Int(exactly: $0) }), range.contains(number) else {
            throw fault("must have a number from \(range.lowerBound) to \(range.upperBound) in \"\(member)\"")
        }
        return number
    }

    private func timeout() throws(RegistrationFault) -> Duration? {
        guard let json = self["timeout"] else { return nil }
        let maximum = FunctionRegistration.maximumTimeout
        guard let text = json.string, let time = Duration(goText: text), time > .zero, time <= maximum else {
            throw fault("must have a duration of at most 15m in \"timeout\", such as \"10s\"")
        }
        return time
    }

    private func need() throws(RegistrationFault) -> FunctionNeed {
        let (key, user) = (try flag("key_required"), try flag("user_required"))
        if isStrict {
            let (isMaster, isAdministrator) = (try flag("master"), try flag("administrator"))
            let roles = try texts("roles")
            if isMaster { return .master }
            if isAdministrator { return .administrator }
            if let roles { return .roles(roles.map { RoleName($0) }) }
        }
        return user ? .user : key ? .key : .nothing
    }

    // MARK: Entries

    func function(reserved actions: Set<String>) throws(RegistrationFault) -> FunctionDescription {
        guard let functionName = try? FunctionName(name) else {
            throw fault("must have a name of a letter and at most 127 letters, digits or characters of \"_.:/-\"")
        }
        guard !actions.contains(name) else { throw fault("has the name of a built-in action") }
        var function = FunctionDescription(functionName, need: try need())
        guard isStrict else { return function }
        if self["summary"] != nil { function.summary = try text("summary", atMost: Self.maximumSummary) }
        if let schema = self["params"] {
            do throws(RegistrationFault) { function.parameters = try ParameterSchema(schema) } catch {
                throw fault("has parameters that cannot be checked. \(error.description.dropLast())")
            }
        }
        if let schema = self["result"] {
            guard schema.isObject, schema.source.count <= ParameterSchema.maximumBytes else {
                throw fault("must have an object of at most \(ParameterSchema.maximumBytes) bytes in \"result\"")
            }
            let writer = JSONWriter()
            writer.canonical(schema)
            function.result = writer.jsonText
        }
        function.timeout = try timeout()
        function.isReadOnly = try flag("read_only")
        function.rateLimit = try integer("rate_limit", in: 1...1_000_000)
        return function
    }

    /// - Parameter dialect: The dialect that the server speaks.
    func hook(_ dialect: FunctionDialect) throws(RegistrationFault) -> HookDescription {
        let word = try text("trigger")
        guard let trigger = HookTrigger(rawValue: word) else {
            throw fault("has the unknown trigger \"\(excerpt(of: word))\"")
        }
        guard dialect == .skyrow || !trigger.needsSkyrowDialect else {
            throw fault("has the trigger \(word), which needs the protocol \"\(FunctionRegistration.skyrowProtocol)\"")
        }
        var hook = HookDescription(name, trigger, on: try type(of: trigger))
        hook.isAsync = try flag("async")
        guard isStrict else { return hook }
        guard !hook.isAsync || dialect == .skygear || trigger.runsAfterwards else {
            throw fault("cannot be asynchronous with the trigger \(word)")
        }
        let isOfSaves = trigger == .beforeSave || trigger == .afterSave
        guard isOfSaves || self["when"] == nil && self["fields"] == nil else {
            throw fault("cannot have \"when\" or \"fields\" with the trigger \(word)")
        }
        if let words = try texts("when") {
            let changes = words.compactMap { HookDescription.Change(rawValue: $0) }
            guard changes.count == words.count else { throw fault("can have \"create\" and \"update\" in \"when\"") }
            hook.when = Set(changes)
        }
        for name in try texts("fields") ?? [] {
            guard let field = try? FieldName(name) else { throw fault("has an illegal field name in \"fields\"") }
            hook.fields.insert(field)
        }
        let isSingle = trigger.isOfAccounts || trigger == .beforeQuery
        let maximum = FunctionRegistration.maximumBatch
        hook.batch = try integer("batch", in: 1...maximum) ?? (isSingle ? 1 : maximum)
        hook.isRequired = try flag("required", default: true)
        hook.timeout = try timeout()
        return hook
    }

    /// The record type of a hook; nil for all types.
    private func type(of trigger: HookTrigger) throws(RegistrationFault) -> RecordTypeName? {
        let isLeftOut = trigger.isOfAccounts && self["type"] == nil
        let name = try isLeftOut ? RecordTypeName.user.rawValue : text("type")
        if name == "*", !trigger.isOfAccounts { return nil }
        guard let type = try? RecordTypeName(name), !trigger.isOfAccounts || type == .user else {
            throw fault(
                trigger.isOfAccounts
                    ? "can only have the type \"user\" with the trigger \(trigger.rawValue)"
                    : "must have a record type or \"*\" in \"type\""
            )
        }
        return type
    }

    func handler() throws(RegistrationFault) -> HandlerDescription {
        let path = "/" + name.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "/")
        // A trailing slash means every path below.
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let isPath =
            segments.dropLast().allSatisfy { !$0.isEmpty } && segments.first?.isEmpty == false
            && segments.allSatisfy { $0 != "." && $0 != ".." } && path.utf8.allSatisfy { $0.isOfPath }
        guard isPath else { throw fault("must have a name of letters, digits and \"_.~:/-\" that makes a path") }
        let methods = (try texts("methods") ?? []).map { $0.uppercased() }
        guard !methods.isEmpty, methods.allSatisfy({ $0.utf8.allSatisfy { (0x41...0x5A).contains($0) } }) else {
            throw fault("must have a list of HTTP methods in \"methods\"")
        }
        return HandlerDescription(path: path, name: name, methods: Set(methods), need: try need())
    }

    func spec() throws(RegistrationFault) -> CronSpec {
        let line = try text("spec", atMost: CronSpec.maximumBytes)
        do throws(RegistrationFault) { return try CronSpec(line) } catch {
            throw fault("has an illegal spec. \(error.description.dropLast())")
        }
    }
}

extension HookTrigger {
    /// Whether it comes after what it is about, so that nothing has to wait for it.
    fileprivate var runsAfterwards: Bool {
        switch self {
        case .afterSave, .afterDelete, .afterLogin, .afterLogout: true
        case .beforeSave, .beforeDelete, .beforeQuery, .afterFetch, .beforeLogin: false
        }
    }
}

extension UInt8 {
    /// Whether it is a character of a path that needs no escape.
    fileprivate var isOfPath: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || "_.~/-".utf8.contains(self)
    }
}
