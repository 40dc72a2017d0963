package import SkyrowJSON
package import SkyrowModel

/// How a value is made of the members of a JSON object, and written as one.
///
/// ```swift
/// let form = Form(RoleChange.init(role:users:roles:),
///     Member("role", \.role, .roleName, "The name of the role."),
///     Member("users", \.users, .list(of: .userID, atMost: 10_000), "User ids.", absent: []),
///     Member("roles", \.roles, .list(of: .roleName, atMost: 100), "The names of roles.", absent: []))
/// ```
///
/// Forms are not specialised: one copy of each initialiser serves all actions, which have two hundred members. The forms of records, which
/// are read on every request, are written by hand.
///
/// The members are those of the initialiser, in its order. Members that the form does not list are passed over; the parameters
/// of an action refuse them (``KnownParameters``).
public struct Form<Root>: Sendable {
    package let members: [MemberDescription]
    /// Throws what is wrong with a member, or `108 InvalidArgument` for one that is missing.
    package let read: @Sendable (JSONView) throws(SkyrowError) -> Root
    package let write: @Sendable (Root, JSONWriter) -> Void
    /// Writes the members without the braces around them.
    fileprivate let writeMembers: @Sendable (Root, JSONWriter) -> Void

    /// - Parameter make: makes the value; throws what is wrong with several members together.
    @_semantics("optimize.sil.specialize.generic.never")
    package init<each Value>(
        _ make: @escaping @Sendable (repeat each Value) throws(SkyrowError) -> Root,
        _ member: repeat Member<Root, each Value>
    ) {
        var members: [MemberDescription] = []
        for member in repeat each member { members += member.descriptions }
        self.init(members: members) { json throws(SkyrowError) in
            try make(repeat try (each member).read(json))
        } writeMembers: { root, writer in
            for member in repeat each member { member.write(root, writer) }
        }
    }

    /// A form of one member, which is the value itself.
    @_semantics("optimize.sil.specialize.generic.never")
    init(_ name: StaticString, _ codec: Codec<Root>, _ summary: String = "") {
        self.init({ $0 }, Member(name, \.self, codec, summary))
    }

    /// A form of one member, whose absence is nil.
    @_semantics("optimize.sil.specialize.generic.never")
    init<Wrapped>(optional name: StaticString, _ codec: Codec<Wrapped>, _ summary: String) where Root == Wrapped? {
        self.init({ $0 }, Member(optional: name, \.self, codec, summary))
    }

    private init(
        members: [MemberDescription],
        read: @escaping @Sendable (JSONView) throws(SkyrowError) -> Root,
        writeMembers: @escaping @Sendable (Root, JSONWriter) -> Void
    ) {
        self.members = members
        self.read = read
        self.writeMembers = writeMembers
        write = { root, writer in
            writer.beginObject()
            writeMembers(root, writer)
            writer.endObject()
        }
    }

    private init(_ form: Form, read: @escaping @Sendable (JSONView) throws(SkyrowError) -> Root) {
        members = form.members
        write = form.write
        writeMembers = form.writeMembers
        self.read = read
    }

    /// The same form with another reader, such as one for the envelope of Skygear v1.
    package func reading(_ read: @escaping @Sendable (JSONView, _ form: Form) throws(SkyrowError) -> Root) -> Form {
        Form(self) { json throws(SkyrowError) in try read(json, self) }
    }

    /// The form of a value that is absent unless one of these members is there, as a part of another form.
    func optional(by names: StaticString...) -> Form<Root?> {
        let members = members.map { member in
            MemberDescription(member.name, member.summary, member.isRequired ? .nullable(member.shape) : member.shape)
        }
        return Form<Root?>(members: members) { [read] json throws(SkyrowError) in
            guard names.contains(where: { name in json[name].map { !$0.isNull } ?? false }) else { return nil }
            return try read(json)
        } writeMembers: { [writeMembers] root, writer in
            if let root { writeMembers(root, writer) }
        }
    }

    /// A form that is read and written by hand. OpenRPC has the members; another form cannot.
    package init(
        _ members: [MemberDescription],
        read: @escaping @Sendable (JSONView) throws(SkyrowError) -> Root,
        write: @escaping @Sendable (Root, JSONWriter) -> Void
    ) {
        self.members = members
        self.read = read
        self.write = write
        writeMembers = { _, _ in preconditionFailure("A form that is written by hand is not a part of another one.") }
    }

    /// Returns a value as it is read from the JSON that is written of it, so that the rules of the codecs hold for values that
    /// are made in the process.
    package func checked(_ root: Root) throws(SkyrowError) -> Root {
        let writer = JSONWriter()
        write(root, writer)
        let document: JSONDocument
        do {
            document = try JSONDocument(writer.bytes)
        } catch {
            throw SkyrowError(.badRequest, error.description + ".")
        }
        return try document.withRoot { json throws(SkyrowError) in try read(json) }
    }

    var shape: JSONShape {
        .object(members.map { JSONMember($0.name, $0.shape, isRequired: $0.isRequired, $0.summary) })
    }
}

extension SkyrowError {
    /// `107 BadRequest` for a parameter with another type of JSON.
    package static func wrongType(_ name: String, _ expected: String) -> SkyrowError {
        SkyrowError(.badRequest, "\"\(name)\" must be \(expected).", info: ["arguments": .list([.string(name)])])
    }

    /// `108 InvalidArgument` for a parameter with more entries than one request may have.
    static func tooMany(_ name: String, _ limit: Int) -> SkyrowError {
        .invalidArgument("\"\(name)\" has more than \(limit) entries; send several requests.", name)
    }
}

extension Array {
    /// nil for an empty array, so that a member with this value is left out.
    var nonEmpty: [Element]? { isEmpty ? nil : self }
}

extension Form<Void> {
    /// An object without members.
    package static let none = Form({ () })
}

/// What a member of an object is called, and what is said of it.
package struct MemberDescription: Hashable, Sendable {
    package let name: String
    /// One sentence.
    package let summary: String
    package let shape: JSONShape
    package let isRequired: Bool
}

extension MemberDescription {
    init(_ name: String, _ summary: String, _ shape: JSONShape, isRequired: Bool = false) {
        self.init(name: name, summary: summary, shape: shape, isRequired: isRequired)
    }
}

/// One member of a form: its name, its place in the value, its codec, a sentence about it, and what its absence means.
///
/// A member that is `null` counts as absent, as in Skygear, unless it is one to `keep`.
public struct Member<Root, Value>: Sendable {
    let descriptions: [MemberDescription]
    let read: @Sendable (JSONView) throws(SkyrowError) -> Value
    let write: @Sendable (Root, JSONWriter) -> Void

    @_semantics("optimize.sil.specialize.generic.never")
    private init(
        _ name: StaticString,
        _ summary: String,
        _ shape: JSONShape,
        isRequired: Bool,
        read: @escaping @Sendable (JSONView?) throws(SkyrowError) -> Value,
        write: @escaping @Sendable (Root, JSONWriter) -> Void
    ) {
        descriptions = [MemberDescription(name: "\(name)", summary: summary, shape: shape, isRequired: isRequired)]
        self.read = { json throws(SkyrowError) in try read(json[name]) }
        self.write = write
    }

    /// A required member.
    @_semantics("optimize.sil.specialize.generic.never")
    package init(
        _ name: StaticString,
        _ path: any Swift.KeyPath<Root, Value> & Sendable,
        _ codec: Codec<Value>,
        _ summary: String = ""
    ) {
        let text = "\(name)"
        self.init(name, summary, codec.shape, isRequired: true) { json throws(SkyrowError) in
            guard let json, !json.isNull || codec.takesNull else {
                throw .invalidArgument("\"\(text)\" is missing.", text)
            }
            return try codec.read(json, text)
        } write: { root, writer in
            writer.key(name)
            codec.write(root[keyPath: path], writer)
        }
    }

    /// A member with a value for its absence.
    @_semantics("optimize.sil.specialize.generic.never")
    package init(
        _ name: StaticString,
        _ path: any Swift.KeyPath<Root, Value> & Sendable,
        _ codec: Codec<Value>,
        _ summary: String,
        absent: Value
    ) where Value: Equatable & Sendable {
        let text = "\(name)"
        self.init(name, summary, .nullable(codec.shape), isRequired: false) { json throws(SkyrowError) in
            guard let json, !json.isNull else { return absent }
            return try codec.read(json, text)
        } write: { root, writer in
            let value = root[keyPath: path]
            guard value != absent else { return }
            writer.key(name)
            codec.write(value, writer)
        }
    }

    /// A member that may be absent; where it is `nil`, it is not written.
    @_semantics("optimize.sil.specialize.generic.never")
    package init<Wrapped>(
        optional name: StaticString,
        _ path: any Swift.KeyPath<Root, Wrapped?> & Sendable,
        _ codec: Codec<Wrapped>,
        _ summary: String
    ) where Value == Wrapped? {
        self.init(optional: name, path, codec, summary, .nullable(codec.shape))
    }

    /// A member of a result that is there if it is not `nil`.
    @_semantics("optimize.sil.specialize.generic.never")
    package init<Wrapped>(
        ifAny name: StaticString,
        _ path: any Swift.KeyPath<Root, Wrapped?> & Sendable,
        _ codec: Codec<Wrapped>,
        _ summary: String = ""
    ) where Value == Wrapped? {
        self.init(optional: name, path, codec, summary, codec.shape)
    }

    /// A member of a result that older services leave out.
    @_semantics("optimize.sil.specialize.generic.never")
    package init(
        _ name: StaticString,
        _ path: any Swift.KeyPath<Root, Value> & Sendable,
        _ codec: Codec<Value>,
        _ summary: String = "",
        inOlder value: Value
    ) where Value: Sendable {
        let text = "\(name)"
        self.init(name, summary, codec.shape, isRequired: true) { json throws(SkyrowError) in
            guard let json, !json.isNull else { return value }
            return try codec.read(json, text)
        } write: { root, writer in
            writer.key(name)
            codec.write(root[keyPath: path], writer)
        }
    }

    /// The members of another form, which make one value, such as `device_id` and `device_name`.
    @_semantics("optimize.sil.specialize.generic.never")
    package init(_ path: any Swift.KeyPath<Root, Value> & Sendable, members form: Form<Value>) {
        descriptions = form.members
        read = form.read
        write = { root, writer in form.writeMembers(root[keyPath: path], writer) }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private init<Wrapped>(
        optional name: StaticString,
        _ path: any Swift.KeyPath<Root, Wrapped?> & Sendable,
        _ codec: Codec<Wrapped>,
        _ summary: String,
        _ shape: JSONShape
    ) where Value == Wrapped? {
        let text = "\(name)"
        self.init(name, summary, shape, isRequired: false) { json throws(SkyrowError) in
            guard let json, !json.isNull else { return nil }
            return try codec.read(json, text)
        } write: { root, writer in
            guard let value = root[keyPath: path] else { return }
            writer.key(name)
            codec.write(value, writer)
        }
    }

    /// A member of a change: absent it leaves what is there as it is, `null` clears it.
    @_semantics("optimize.sil.specialize.generic.never")
    package init<Wrapped>(
        keep name: StaticString,
        _ path: any Swift.KeyPath<Root, Wrapped??> & Sendable,
        _ codec: Codec<Wrapped?>,
        _ summary: String
    ) where Value == Wrapped?? {
        let text = "\(name)"
        self.init(name, summary, codec.shape, isRequired: false) { json throws(SkyrowError) in
            guard let json else { return nil }
            return .some(try codec.read(json, text))
        } write: { root, writer in
            guard let value = root[keyPath: path] else { return }
            writer.key(name)
            codec.write(value, writer)
        }
    }
}
