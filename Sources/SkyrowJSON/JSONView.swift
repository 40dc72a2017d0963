package import SkyrowModel

/// A value inside a parsed text: a cursor that costs nothing to copy and is valid in the closure that receives it.
package struct JSONView {
    private let text: UnsafeBufferPointer<UInt8>
    private let tape: UnsafeBufferPointer<UInt64>
    private let index: Int

    /// Creates a view of the value at an index of a complete tape.
    @inline(__always)
    init(text: UnsafeBufferPointer<UInt8>, tape: UnsafeBufferPointer<UInt64>, index: Int = 0) {
        self.text = text
        self.tape = tape
        self.index = index
    }

    package var kind: JSONKind { JSONTape.kind(tape[index]) }

    package var isNull: Bool { kind == .null }

    /// The value of `true` or `false`; nil for any other value.
    package var boolean: Bool? {
        switch kind {
        case .true: true
        case .false: false
        case .null, .integer, .number, .string, .escapedString, .array, .object: nil
        }
    }

    /// The bytes of a scalar, without the quotes of a string, or those of a container with its brackets.
    @inline(__always)
    package var slice: UnsafeBufferPointer<UInt8> {
        let word = tape[index]
        let start = JSONTape.start(word)
        return UnsafeBufferPointer(rebasing: text[start..<start + JSONTape.length(word)])
    }

    /// The JSON text of the value, as it was sent.
    package var source: UnsafeRawBufferPointer {
        let word = tape[index]
        let start = JSONTape.start(word)
        let length = JSONTape.length(word)
        switch JSONTape.kind(word) {
        case .string, .escapedString:
            return UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: text[start - 1..<start + length + 1]))
        case .null, .false, .true, .integer, .number, .array, .object:
            return UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: text[start..<start + length]))
        }
    }

    /// The JSON text of the value, copied.
    package var jsonText: JSONText { JSONText(validated: Array(source)) }
}

// MARK: Strings

extension JSONView {
    package var isString: Bool {
        switch kind {
        case .string, .escapedString: true
        case .null, .false, .true, .integer, .number, .array, .object: false
        }
    }

    /// The string; nil for any other value.
    package var string: String? {
        switch kind {
        case .string: String(decoding: slice, as: UTF8.self)
        case .escapedString: String(decoding: unescaped(slice), as: UTF8.self)
        case .null, .false, .true, .integer, .number, .array, .object: nil
        }
    }

    /// Whether the value is this string.
    package func equals(_ other: StaticString) -> Bool {
        let bytes = UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount)
        switch kind {
        case .string: return areEqual(slice, bytes)
        case .escapedString: return unescaped(slice).elementsEqual(bytes)
        case .null, .false, .true, .integer, .number, .array, .object: return false
        }
    }

    /// Whether the value is the string of these bytes.
    package func equals(_ other: [UInt8]) -> Bool {
        switch kind {
        case .string: return other.withUnsafeBufferPointer { areEqual(slice, $0) }
        case .escapedString: return unescaped(slice).elementsEqual(other)
        case .null, .false, .true, .integer, .number, .array, .object: return false
        }
    }

    /// The first byte of a string; zero for an empty string and for any other value.
    package var firstByte: UInt8 {
        switch kind {
        case .string: slice.first ?? 0
        case .escapedString: unescaped(slice).first ?? 0
        case .null, .false, .true, .integer, .number, .array, .object: 0
        }
    }
}

@inline(__always)
private func areEqual(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    for i in 0..<a.count where a[i] != b[i] { return false }
    return true
}

/// Returns the bytes of a string with escapes, which the parser has checked.
private func unescaped(_ slice: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(slice.count)
    var i = 0
    func unit(at start: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 << 4 | UInt32(Hexadecimal.value(slice[start + $1]) ?? 0) }
    }
    while i < slice.count {
        guard slice[i] == UInt8(ascii: "\\") else {
            result.append(slice[i])
            i += 1
            continue
        }
        switch slice[i + 1] {
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"):
            var code = unit(at: i + 2)
            i += 4
            if (0xD800...0xDBFF).contains(code) {
                code = 0x10000 + (code - 0xD800) << 10 + (unit(at: i + 4) - 0xDC00)
                i += 6
            }
            if let scalar = Unicode.Scalar(code) {
                result.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
            }
        case let plain: result.append(plain)
        }
        i += 2
    }
    return result
}

// MARK: Containers

extension JSONView {
    package var isArray: Bool { kind == .array }
    package var isObject: Bool { kind == .object }

    /// The number of elements or members of a container; each of several members with the same name counts.
    package var count: Int {
        switch kind {
        case .array, .object: JSONTape.count(tape[index + 1])
        case .null, .false, .true, .integer, .number, .string, .escapedString: 0
        }
    }

    /// The elements of an array; empty for any other value.
    package var elements: Elements {
        isArray ? Elements(cursor: at(index + 2), end: end) : Elements(cursor: self, end: index)
    }

    /// The first element of an array; nil for an empty array and for any other value.
    package var firstElement: JSONView? { isArray && count > 0 ? at(index + 2) : nil }

    /// The members of an object as they were sent, including repeated names; empty for any other value.
    package var members: Members {
        isObject ? Members(cursor: at(index + 2), end: end) : Members(cursor: self, end: index)
    }

    /// The member of that name, the last one if several have it; nil without such a member, and for any other value.
    package subscript(_ name: StaticString) -> JSONView? {
        var found: JSONView?
        for (key, value) in members where key.equals(name) { found = value }
        return found
    }

    /// The members of an object, each name once with its last value, in the order of the first occurrences.
    package var uniqueMembers: [(name: String, value: JSONView)] {
        var unique: [(name: String, value: JSONView)] = []
        unique.reserveCapacity(count)
        var places: [TextKey: Int] = [:]
        for (key, value) in members {
            let name = key.string ?? ""
            if let place = places[TextKey(name)] {
                unique[place].value = value
            } else {
                places[TextKey(name)] = unique.count
                unique.append((name, value))
            }
        }
        return unique
    }

    /// The tape index after this value and everything inside it.
    @inline(__always)
    private var end: Int {
        switch kind {
        case .array, .object: JSONTape.linked(tape[index + 1])
        case .null, .false, .true, .integer, .number, .string, .escapedString: index + 1
        }
    }

    @inline(__always)
    private func at(_ index: Int) -> JSONView {
        JSONView(text: text, tape: tape, index: index)
    }

    /// Iterates over an array.
    package struct Elements: Sequence, IteratorProtocol {
        fileprivate var cursor: JSONView
        fileprivate let end: Int

        package mutating func next() -> JSONView? {
            guard cursor.index < end else { return nil }
            defer { cursor = cursor.at(cursor.end) }
            return cursor
        }
    }

    /// Iterates over an object.
    package struct Members: Sequence, IteratorProtocol {
        fileprivate var cursor: JSONView
        fileprivate let end: Int

        package mutating func next() -> (key: JSONView, value: JSONView)? {
            guard cursor.index < end else { return nil }
            let key = cursor
            let value = cursor.at(cursor.index + 1)
            cursor = value.at(value.end)
            return (key, value)
        }
    }

    /// Every scalar and container inside this value, keys included, in the order of the text.
    package var descendants: some Sequence<JSONView> {
        sequence(state: index + 1 + (isArray || isObject ? 1 : 0)) { place -> JSONView? in
            guard place < end else { return nil }
            let view = at(place)
            place += view.isArray || view.isObject ? 2 : 1
            return view
        }
    }
}
