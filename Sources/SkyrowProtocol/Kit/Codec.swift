package import SkyrowJSON
package import SkyrowModel

/// How a value is read from JSON and written to it, with the shape that describes it in OpenRPC.
///
/// A rule of a value stands only in its codec: `Codec.roleName` refuses a name of more than 64 bytes, and its shape contains
/// this limit.
///
/// ```swift
/// let names = Codec.list(of: .roleName, atMost: 100)
/// names.shape   // an array of at most 100 strings of at most 64 characters
/// ```
public struct Codec<Value>: Sendable {
    package let shape: JSONShape
    /// Reads the value of a parameter; the name is that of the parameter, for the sentence of an error.
    ///
    /// Throws `107 BadRequest` for another type of JSON, and `108 InvalidArgument` for a value that breaks a rule.
    package let read: @Sendable (JSONView, _ name: String) throws(SkyrowError) -> Value
    package let write: @Sendable (Value, JSONWriter) -> Void

    package init(
        _ shape: JSONShape,
        read: @escaping @Sendable (JSONView, _ name: String) throws(SkyrowError) -> Value,
        write: @escaping @Sendable (Value, JSONWriter) -> Void
    ) {
        self.shape = shape
        self.read = read
        self.write = write
    }

    var takesNull: Bool { if case .nullable = shape { true } else { false } }

    /// A codec of a value that is written as another one.
    @_semantics("optimize.sil.specialize.generic.never")
    func map<Other>(
        _ shape: JSONShape? = nil,
        reading make: @escaping @Sendable (Value) -> Other,
        writing value: @escaping @Sendable (Other) -> Value
    ) -> Codec<Other> {
        Codec<Other>(shape ?? self.shape) { [read] json, name throws(SkyrowError) in
            make(try read(json, name))
        } write: { [write] other, writer in
            write(value(other), writer)
        }
    }
}

extension Codec<Bool> {
    package static let boolean = Codec(.boolean) { json, name throws(SkyrowError) in
        guard let boolean = json.boolean else { throw .wrongType(name, "true or false") }
        return boolean
    } write: { value, writer in
        writer.boolean(value)
    }
}

extension Codec<String> {
    /// A text of any length that PostgreSQL can store.
    package static let string = text(.string()) {
        "\"\($0)\" cannot contain NUL."
    } isFit: {
        !$0.hasNUL
    }

    /// A text with a number of bytes of UTF-8 in this range, without NUL.
    package static func string(_ bytes: ClosedRange<Int>) -> Codec {
        text(.string(maximum: bytes.upperBound)) { name in
            "\"\(name)\" must have \(bytes.lowerBound) to \(bytes.upperBound) bytes without NUL."
        } isFit: { text in
            bytes.contains(text.utf8.count) && !text.hasNUL
        }
    }

    /// A text with a rule, which `rule` puts into a sentence.
    static func text(
        _ shape: JSONShape,
        rule: @escaping @Sendable (_ name: String) -> String,
        isFit: @escaping @Sendable (String) -> Bool
    ) -> Codec {
        Codec(shape) { json, name throws(SkyrowError) in
            guard let text = json.string else { throw .wrongType(name, "a string") }
            guard isFit(text) else { throw .invalidArgument(rule(name), name) }
            return text
        } write: { text, writer in
            writer.string(text)
        }
    }
}

extension Codec<Int> {
    package static func integer(_ range: ClosedRange<Int>) -> Codec {
        let maximum = range.upperBound == .max ? nil : range.upperBound
        return Codec(.integer(minimum: range.lowerBound, maximum: maximum)) { json, name throws(SkyrowError) in
            guard json.number != nil else { throw .wrongType(name, "a number") }
            guard let integer = json.wholeNumber.flatMap({ Int(exactly: $0) }), range.contains(integer) else {
                let end = maximum.map { " to \($0)" } ?? ""
                throw .invalidArgument("\"\(name)\" must be a whole number from \(range.lowerBound)\(end).", name)
            }
            return integer
        } write: { integer, writer in
            writer.integer(integer)
        }
    }

    /// The result `{"added": 2}`.
    package static func count(_ member: StaticString, _ summary: String = "") -> Codec {
        .object(Form(member, .integer(0...Int.max), summary))
    }
}

extension Codec<Int64> {
    /// A whole number that PostgreSQL's `bigint` holds.
    package static let bigint = Codec(.integer()) { json, name throws(SkyrowError) in
        guard let integer = json.wholeNumber.flatMap({ Int64(exactly: $0) }) else {
            throw .wrongType(name, "a whole number")
        }
        return integer
    } write: { integer, writer in
        writer.integer(integer)
    }
}

extension Codec<Timestamp> {
    /// An instant as in RFC 3339.
    package static let instant = Codec(.dateTime) { json, name throws(SkyrowError) in
        guard let text = json.string else { throw .wrongType(name, "a string") }
        guard let instant = try? Timestamp(rfc3339: text) else {
            throw .invalidArgument("\"\(name)\" must be an instant in the form of RFC 3339.", name)
        }
        return instant
    } write: { instant, writer in
        writer.timestamp(instant)
    }
}

extension Codec {
    /// A value, or `null` for none.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func nullable<Wrapped>(_ codec: Codec<Wrapped>) -> Codec where Value == Wrapped? {
        Codec(.nullable(codec.shape)) { json, name throws(SkyrowError) in
            try json.isNull ? nil : codec.read(json, name)
        } write: { value, writer in
            if let value { codec.write(value, writer) } else { writer.null() }
        }
    }

    /// An array, which is refused whole for one element that is wrong.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func list<Element>(
        of element: Codec<Element>,
        atMost maximum: Int? = nil
    ) -> Codec where Value == [Element] {
        Codec(.array(of: element.shape, maximum: maximum)) { json, name throws(SkyrowError) in
            guard json.isArray else { throw .wrongType(name, "an array") }
            let count = json.count
            if let maximum, count > maximum { throw .tooMany(name, maximum) }
            var values: [Element] = []
            values.reserveCapacity(count)
            for (place, json) in json.elements.enumerated() {
                do throws(SkyrowError) {
                    values.append(try element.read(json, name))
                } catch {
                    throw error.at(place).at(name)
                }
            }
            return values
        } write: { values, writer in
            writer.beginArray()
            for value in values where writer.refusal == nil { element.write(value, writer) }
            writer.endArray()
        }
    }

    /// An object whose members all have values of one kind, such as `{"ann": ["editor"]}`.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func table<Key, Element>(
        of element: Codec<Element>,
        text: @escaping @Sendable (Key) -> String,
        key make: @escaping @Sendable (String) -> Key
    ) -> Codec where Value == [Key: Element], Key: Hashable & Sendable {
        Codec(.object([], others: element.shape)) { json, name throws(SkyrowError) in
            guard json.isObject else { throw .wrongType(name, "an object") }
            var table: [Key: Element] = [:]
            for (key, value) in json.members {
                let text = key.string ?? ""
                do throws(SkyrowError) {
                    table[make(text)] = try element.read(value, name)
                } catch {
                    throw error.at(text).at(name)
                }
            }
            return table
        } write: { table, writer in
            writer.beginObject()
            for (key, value) in table.map({ (text($0.key), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
                writer.key(key)
                element.write(value, writer)
            }
            writer.endObject()
        }
    }

    /// An object with the members of a form.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func object(_ form: Form<Value>, named name: JSONShapeName? = nil) -> Codec {
        Codec(name.map { .named($0) } ?? form.shape) { json, name throws(SkyrowError) in
            guard json.isObject else { throw .wrongType(name, "an object") }
            return try form.read(json)
        } write: { value, writer in
            form.write(value, writer)
        }
    }
}

extension Codec<Void> {
    /// The result `{"status": "OK"}` of an action that returns nothing.
    package static let status = Codec(.named(.status)) { _, _ in
    } write: { _, writer in
        writer.beginObject()
        writer.member("status", "OK")
        writer.endObject()
    }

    /// The result `"OK"`, which actions of Skygear return.
    package static let done = Codec(.oneOfStrings(["OK"])) { _, _ in
    } write: { _, writer in
        writer.string("OK")
    }
}
