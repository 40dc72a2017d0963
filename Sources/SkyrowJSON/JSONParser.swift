/// Checks a text against RFC 8259 in one pass and writes the tape of its values
/// (Documentation/Decisions/wire-format.md).
///
/// It stops when the tape is full and continues in a longer one, so that the tape can be a plain array.
struct JSONParser {
    private enum Stage {
        case value
        case firstElement
        case firstKey
        case key
        case separator
    }

    /// The most words that one step writes.
    private static let wordsPerStep = 2

    private let base: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private let depthLimit: Int

    private var position: UnsafePointer<UInt8>
    private var stage = Stage.value
    private var depth = 0
    /// The tape index of the innermost open container plus one; zero outside of all containers.
    ///
    /// While a container is open, the upper half of its second word has this value of the container around it.
    private var innermost = 0
    private(set) var wordCount = 0

    /// Creates a parser; the text must not move while it runs.
    init(text: UnsafeRawBufferPointer, depthLimit: Int) throws(JSONParseError) {
        guard text.count <= JSONTape.maximumTextLength else { throw JSONParseError(.tooLong, at: 0) }
        guard let start = text.baseAddress, text.count > 0 else { throw JSONParseError(.unexpectedEnd, at: 0) }
        base = start.assumingMemoryBound(to: UInt8.self)
        end = base + text.count
        position = base
        self.depthLimit = depthLimit
    }

    /// Parses until the text ends (true) or the tape is full (false).
    mutating func run(into tape: UnsafeMutableBufferPointer<UInt64>) throws(JSONParseError) -> Bool {
        guard let words = tape.baseAddress else { return false }
        let capacity = tape.count - JSONParser.wordsPerStep
        // Locals stay in registers, unlike members of `self`.
        var p = position
        var index = wordCount
        var stage = stage
        while true {
            p = skipWhitespace(p)
            switch stage {
            case .separator:
                guard innermost > 0 else {
                    guard p == end else { throw error(.trailingText, at: p) }
                    wordCount = index
                    return true
                }
                guard p < end else { throw error(.unexpectedEnd, at: p) }
                let isArray = JSONTape.kind(words[innermost - 1]) == .array
                if p[0] == UInt8(ascii: ",") {
                    p += 1
                    stage = isArray ? .value : .key
                } else if p[0] == (isArray ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
                    p += 1
                    close(words, index: index, at: p)
                } else {
                    throw error(.unexpectedByte, at: p)
                }
                continue
            case .firstKey where p < end && p[0] == UInt8(ascii: "}"),
                .firstElement where p < end && p[0] == UInt8(ascii: "]"):
                p += 1
                close(words, index: index, at: p)
                stage = .separator
                continue
            case .key, .firstKey:
                guard index <= capacity else {
                    suspend(at: p, index: index, stage: stage)
                    return false
                }
                guard p < end else { throw error(.unexpectedEnd, at: p) }
                guard p[0] == UInt8(ascii: "\"") else { throw error(.unexpectedByte, at: p) }
                p = try string(from: p + 1, word: &words[index])
                index += 1
                p = skipWhitespace(p)
                guard p < end else { throw error(.unexpectedEnd, at: p) }
                guard p[0] == UInt8(ascii: ":") else { throw error(.unexpectedByte, at: p) }
                p += 1
                stage = .value
                continue
            case .value, .firstElement:
                break
            }
            guard index <= capacity else {
                suspend(at: p, index: index, stage: stage)
                return false
            }
            guard p < end else { throw error(.unexpectedEnd, at: p) }
            if innermost > 0 { words[innermost] &+= 1 }
            switch p[0] {
            case UInt8(ascii: "\""):
                p = try string(from: p + 1, word: &words[index])
                index += 1
                stage = .separator
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = p[0] == UInt8(ascii: "{")
                depth += 1
                guard depth <= depthLimit else { throw error(.nestedTooDeeply(limit: depthLimit), at: p) }
                words[index] = JSONTape.word(isObject ? .object : .array, start: p - base, length: 0)
                words[index + 1] = JSONTape.link(innermost, count: 0)
                innermost = index + 1
                index += 2
                p += 1
                stage = isObject ? .firstKey : .firstElement
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                p = try number(from: p, word: &words[index])
                index += 1
                stage = .separator
            case UInt8(ascii: "t"):
                p = try literal("true", .true, from: p, word: &words[index])
                index += 1
                stage = .separator
            case UInt8(ascii: "f"):
                p = try literal("false", .false, from: p, word: &words[index])
                index += 1
                stage = .separator
            case UInt8(ascii: "n"):
                p = try literal("null", .null, from: p, word: &words[index])
                index += 1
                stage = .separator
            default:
                throw error(.unexpectedByte, at: p)
            }
        }
    }

    private mutating func suspend(at p: UnsafePointer<UInt8>, index: Int, stage: Stage) {
        position = p
        wordCount = index
        self.stage = stage
    }

    @inline(__always)
    private mutating func close(_ words: UnsafeMutablePointer<UInt64>, index: Int, at p: UnsafePointer<UInt8>) {
        let start = JSONTape.start(words[innermost - 1])
        words[innermost - 1] |= UInt64(truncatingIfNeeded: p - base - start) << 30
        let link = words[innermost]
        words[innermost] = JSONTape.link(index, count: link & 0xFFFF_FFFF)
        innermost = JSONTape.linked(link)
        depth -= 1
    }

    @inline(__always)
    private func error(_ reason: JSONParseError.Reason, at p: UnsafePointer<UInt8>) -> JSONParseError {
        JSONParseError(reason, at: p - base)
    }

    @inline(__always)
    private func skipWhitespace(_ start: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var p = start
        while p < end, p[0] <= 0x20,
            p[0] == 0x20 || p[0] == 0x0A || p[0] == 0x0D || p[0] == 0x09
        {
            p += 1
        }
        return p
    }

    private func literal(
        _ text: StaticString,
        _ kind: JSONKind,
        from start: UnsafePointer<UInt8>,
        word: inout UInt64
    ) throws(JSONParseError) -> UnsafePointer<UInt8> {
        let length = text.utf8CodeUnitCount
        for i in 0..<length {
            guard start + i < end else { throw error(.unexpectedEnd, at: start + i) }
            guard start[i] == text.utf8Start[i] else { throw error(.unexpectedByte, at: start + i) }
        }
        word = JSONTape.word(kind, start: start - base, length: length)
        return start + length
    }

    @inline(__always)
    private func number(
        from start: UnsafePointer<UInt8>,
        word: inout UInt64
    ) throws(JSONParseError) -> UnsafePointer<UInt8> {
        var p = start
        var kind = JSONKind.integer
        if p[0] == UInt8(ascii: "-") { p += 1 }
        if p < end, p[0] == UInt8(ascii: "0") {
            p += 1
            if p < end, isDigit(p[0]) { throw error(.invalidNumber, at: p) }
        } else {
            p = try digits(from: p)
        }
        if p < end, p[0] == UInt8(ascii: ".") {
            kind = .number
            p = try digits(from: p + 1)
        }
        if p < end, p[0] | 0x20 == UInt8(ascii: "e") {
            kind = .number
            p += 1
            if p < end, p[0] == UInt8(ascii: "+") || p[0] == UInt8(ascii: "-") { p += 1 }
            p = try digits(from: p)
        }
        word = JSONTape.word(kind, start: start - base, length: p - start)
        return p
    }

    @inline(__always)
    private func digits(from start: UnsafePointer<UInt8>) throws(JSONParseError) -> UnsafePointer<UInt8> {
        var p = start
        while p < end, isDigit(p[0]) { p += 1 }
        guard p > start else { throw error(p < end ? .invalidNumber : .unexpectedEnd, at: p) }
        return p
    }

    /// Reads a string from after its opening quote to after its closing quote.
    @inline(__always)
    private func string(
        from start: UnsafePointer<UInt8>,
        word: inout UInt64
    ) throws(JSONParseError) -> UnsafePointer<UInt8> {
        var p = start
        var kind = JSONKind.string
        while true {
            p = skipPlainStringBytes(p, end: end)
            guard p < end else { throw error(.unexpectedEnd, at: p) }
            let byte = p[0]
            if byte == UInt8(ascii: "\"") {
                word = JSONTape.word(kind, start: start - base, length: p - start)
                return p + 1
            } else if byte == UInt8(ascii: "\\") {
                kind = .escapedString
                p = try escape(from: p)
            } else if byte >= 0x80 {
                p = try multibyte(from: p)
            } else {
                throw error(.controlCharacterInString, at: p)
            }
        }
    }

    private func escape(from start: UnsafePointer<UInt8>) throws(JSONParseError) -> UnsafePointer<UInt8> {
        guard start + 1 < end else { throw error(.unexpectedEnd, at: end) }
        switch start[1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            let unit = try hexadecimal(from: start + 2)
            switch unit {
            case 0xD800...0xDBFF:
                guard start + 7 < end, start[6] == UInt8(ascii: "\\"), start[7] == UInt8(ascii: "u"),
                    (0xDC00...0xDFFF).contains(try hexadecimal(from: start + 8))
                else { throw error(.unpairedSurrogate, at: start) }
                return start + 12
            case 0xDC00...0xDFFF:
                throw error(.unpairedSurrogate, at: start)
            default:
                return start + 6
            }
        default:
            throw error(.invalidEscape, at: start)
        }
    }

    private func hexadecimal(from start: UnsafePointer<UInt8>) throws(JSONParseError) -> UInt32 {
        guard end - start >= 4 else { throw error(.unexpectedEnd, at: end) }
        var unit: UInt32 = 0
        for i in 0..<4 {
            guard let digit = Hexadecimal.value(start[i]) else { throw error(.invalidEscape, at: start + i) }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// Accepts exactly the well-formed sequences of The Unicode Standard, table 3-7.
    private func multibyte(from p: UnsafePointer<UInt8>) throws(JSONParseError) -> UnsafePointer<UInt8> {
        let length: Int
        let second: ClosedRange<UInt8>
        switch p[0] {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw error(.invalidUTF8, at: p)
        }
        guard end - p >= length, second.contains(p[1]) else { throw error(.invalidUTF8, at: p) }
        for i in 2..<max(length, 2) where p[i] & 0xC0 != 0x80 { throw error(.invalidUTF8, at: p) }
        return p + length
    }
}
