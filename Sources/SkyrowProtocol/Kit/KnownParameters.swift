package import SkyrowJSON
package import SkyrowModel

/// The members that the parameters of an action may have, as its description lists them.
///
/// ```swift
/// try entry.knownParameters.check(parameters)   // {"ids": […], "dryrun": true}: 108, "dryrun"
/// ```
///
/// A misspelled parameter that was passed over would change what a request does. What is in records, values and predicates is
/// the application's, and not looked at.
package struct KnownParameters: Sendable {
    /// What else a request has beside the parameters.
    package enum Envelope: Sendable {
        case rpc
        /// The body of a v1 request, whose credentials are among them.
        case v1

        fileprivate func has(_ name: JSONView) -> Bool {
            switch self {
            case .rpc: name.equals("_user_id")
            case .v1:
                name.equals("_user_id") || name.equals("action") || name.equals("api_key")
                    || name.equals("access_token")
            }
        }
    }

    /// Names that an error lists at most.
    private static let maximumNames = 10

    private let action: ActionName
    private let rule: MemberRule
    private let unlisted: [[UInt8]]

    package init(of action: ActionDescription) {
        self.action = action.name
        let members = action.parameters.map { MemberRule.Member($0.name, $0.shape) }
        unlisted = action.unlisted.map { Array($0.utf8) }
        rule = .object(members, isClosed: true, others: nil)
    }

    /// Throws `108 InvalidArgument` with the names of members that the action does not have.
    package func check(_ parameters: JSONView, in envelope: Envelope = .rpc) throws(SkyrowError) {
        let found = rule.unknown(in: parameters) { name in
            envelope.has(name) || unlisted.contains { name.equals($0) }
        }
        guard let found else { return }
        let names = found.names.prefix(Self.maximumNames).map { String($0.prefix(64)) }
        let quoted = names.map { "\"\($0)\"" }.joined(separator: ", ")
        let known = found.known.sorted()
        let place = found.path.isEmpty ? action.rawValue : "\"\(found.path)\" of \(action.rawValue)"
        let error = SkyrowError(
            .invalidArgument,
            known.isEmpty
                ? "\(place) has no parameters; remove \(quoted)."
                : "\(place) has no parameter \(quoted); its parameters are \(known.joined(separator: ", ")).",
            info: ["arguments": .list(names.map { .string($0) })]
        )
        throw found.path.isEmpty ? error : error.at(found.path)
    }
}

/// Where members can be unknown in the value of a parameter; parts without such places have no rule.
private indirect enum MemberRule: Sendable {
    struct Member: Sendable {
        let name: [UInt8]
        let rule: MemberRule?

        init(_ name: String, _ shape: JSONShape) {
            self.name = Array(name.utf8)
            rule = MemberRule(shape)
        }
    }

    case object([Member], isClosed: Bool, others: MemberRule?)
    case elements(MemberRule)
    case places([MemberRule?], rest: MemberRule?)
    case either(object: MemberRule?, array: MemberRule?)

    init?(_ shape: JSONShape) {
        switch shape {
        case .any, .boolean, .integer, .string, .dateTime, .oneOfStrings: return nil
        case .nullable(let shape): self.init(shape)
        case .array(let element, _, _):
            guard let rule = MemberRule(element) else { return nil }
            self = .elements(rule)
        case .tuple(let first, let rest):
            let rules = first.map { MemberRule($0) }
            let others = rest.flatMap { MemberRule($0) }
            guard others != nil || rules.contains(where: { $0 != nil }) else { return nil }
            self = .places(rules, rest: others)
        case .object(let listed, let others):
            self.init(listed, others)
        case .either(let shapes):
            self.init(either: shapes)
        case .named(let name):
            switch name {
            // A key path is in every condition, and is read with all it has.
            case .value, .record, .recordDraft, .predicate, .keyPath: return nil
            default: self.init(name.shape)
            }
        }
    }

    private init?(_ listed: [JSONMember], _ others: JSONShape?) {
        let members = listed.map { Member($0.name, $0.shape) }
        let rule = others.flatMap { MemberRule($0) }
        guard others == nil || rule != nil || members.contains(where: { $0.rule != nil }) else { return nil }
        self = .object(members, isClosed: others == nil, others: rule)
    }

    /// An object may have any of these shapes, so it has the members of all.
    private init?(either shapes: [JSONShape]) {
        var listed: [JSONMember] = []
        var isClosed = true
        var hasObject = false
        var array: MemberRule?
        for shape in shapes {
            let shape = if case .named(.keyPath) = shape { JSONShapeName.keyPath.shape } else { shape }
            switch shape {
            case .object(let more, let others):
                hasObject = true
                listed += more
                isClosed = isClosed && others == nil
            case .any, .named, .nullable, .either:
                isClosed = false
            case .array, .tuple:
                array = array ?? MemberRule(shape)
            case .boolean, .integer, .string, .dateTime, .oneOfStrings: break
            }
        }
        let object = hasObject && isClosed ? MemberRule(listed, nil) : nil
        guard object != nil || array != nil else { return nil }
        self = .either(object: object, array: array)
    }

    struct Unknown {
        let names: [String]
        let known: [String]
        var path = ""

        func at(_ part: String) -> Unknown {
            var unknown = self
            unknown.path = path.isEmpty || path.hasPrefix("[") ? part + path : "\(part).\(path)"
            return unknown
        }
    }

    /// Returns the first object with unknown members; nil if no object has any.
    func unknown(in json: JSONView, passingOver isPassedOver: (JSONView) -> Bool = { _ in false }) -> Unknown? {
        switch self {
        case .object(let members, let isClosed, let others):
            guard json.isObject else { return nil }
            var names: [String] = []
            for (key, value) in json.members {
                if let member = members.first(where: { key.equals($0.name) }) {
                    guard let rule = member.rule, let found = rule.unknown(in: value) else { continue }
                    return found.at(String(decoding: member.name, as: UTF8.self))
                }
                if isClosed {
                    if !isPassedOver(key) { names.append(key.string ?? "") }
                } else if let found = others?.unknown(in: value) {
                    return found.at(String((key.string ?? "").prefix(64)))
                }
            }
            guard !names.isEmpty else { return nil }
            return Unknown(names: names, known: members.map { String(decoding: $0.name, as: UTF8.self) })
        case .elements(let rule):
            for (place, element) in json.elements.enumerated() {
                if let found = rule.unknown(in: element) { return found.at("[\(place)]") }
            }
            return nil
        case .places(let rules, let rest):
            for (place, element) in json.elements.enumerated() {
                let rule = place < rules.count ? rules[place] : rest
                if let found = rule?.unknown(in: element) { return found.at("[\(place)]") }
            }
            return nil
        case .either(let object, let array):
            return json.isArray ? array?.unknown(in: json) : object?.unknown(in: json)
        }
    }
}
